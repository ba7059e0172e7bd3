# Lo que dicen las páginas, en español.

## Duraciones

duration-seconds = { $n ->
    [one] { $n } segundo
   *[other] { $n } segundos
}
duration-minutes = { $n ->
    [one] { $n } minuto
   *[other] { $n } minutos
}
duration-hours = { $n ->
    [one] { $n } hora
   *[other] { $n } horas
}
duration-days = { $n ->
    [one] { $n } día
   *[other] { $n } días
}

## Newsletter form

newsletter-title = Boletín
newsletter-lead = Deje su dirección y recibirá el próximo número.
newsletter-email = Correo electrónico
newsletter-submit = Suscribirse
newsletter-trap = Deje esto vacío
newsletter-address-missing = Por favor, escriba su correo electrónico.
newsletter-address-wrong = Por favor, revise la dirección. Debería parecerse a nombre@example.com.
newsletter-unreadable = Algo ha fallado por el camino. Por favor, escriba su dirección otra vez.
newsletter-again = Por favor, envíe el formulario otra vez.
newsletter-wait = Ahora mismo hay muchas suscripciones. Por favor, inténtelo de nuevo en { $wait }.
newsletter-proof = Ya hay varias suscripciones desde su red. Por favor, envíe el formulario otra vez: su navegador hará un breve cálculo que mantiene alejados a los robots.
newsletter-proof-wait = Ya hay varias suscripciones desde su red. Por favor, inténtelo de nuevo en { $wait }.
newsletter-unavailable = En este momento no podemos guardar su dirección. Por favor, inténtelo de nuevo en unos minutos.
newsletter-thanks = Gracias. { $email } ha llegado.

## Thanks

thanks-title = Gracias
thanks-kept = Su dirección está en la lista.
thanks-passed-on = Su dirección está con nuestro proveedor de boletines. Si recibe un mensaje que le pide confirmarla, siga el enlace que contiene.
thanks-home = A la página de inicio

## Marco de cada página

frame-skip = Ir al contenido
frame-navigation = Sitio
frame-help = Ayuda
frame-developers = Desarrolladores
frame-markdown = Esta página en Markdown
frame-languages = Idioma
frame-imprint = Aviso legal
frame-privacy = Privacidad
frame-contents = Contenido

## Página de inicio

home-promise = Sea el primero en conocer las novedades
home-lead = Deje su dirección y { $name } le escribirá cuando haya algo que valga la pena leer. Sin cuenta y sin rastreo.
home-newsletter-title = Boletín
home-newsletter-kept = Su dirección la guardan los responsables de este sitio y no se cede a nadie.
home-newsletter-passed-on = Su dirección pasa enseguida al proveedor del boletín y no se guarda aquí.
home-stored = Qué se guarda sobre usted
home-chat-title = ¿Preguntas? Hágalas aquí
home-chat-model = Responde un modelo de lenguaje, que puede equivocarse. Lo que escriba se envía al modelo que han elegido los responsables de este sitio.
home-chat-search = El asistente encuentra en nuestras páginas el pasaje que responde a su pregunta. Lo que escriba no se guarda.
home-chat-unscripted = Con los scripts activados puede preguntar aquí al asistente. Sin ellos, la página de [ayuda](/help) responde a las preguntas habituales.
home-suggestion-site = ¿Qué es este sitio?
home-suggestion-leave = ¿Cómo me doy de baja?
home-suggestion-stored = ¿Qué guardan sobre mí?
home-developers-title = Para desarrolladores y agentes
home-developers = Todo esto es una API JSON gratuita y sin cuentas: la [página para desarrolladores]({ $developers }) ofrece claves y comandos, la [guía]({ $docs }) explica cada llamada (en inglés) y [llms.txt]({ $llms }) enumera todo lo que hay para leer.
home-more-pages = Más páginas
home-erp = El ERP es un sistema aparte: <{ $url }>

## Páginas de error

error-not-found-title = Esta página no existe
error-not-found = Puede que la dirección esté mal escrita o que la página se haya movido. Cuentan las mayúsculas y la barra final.
error-method-title = Eso no se puede hacer aquí
error-method = Esta dirección no acepta lo que se envió. Vuelva atrás e inténtelo de otra manera.
error-too-many-title = Un momento, por favor
error-too-many = Han llegado muchas solicitudes desde su red. Inténtelo de nuevo en { $time }.
error-broken-title = Algo ha fallado por nuestra parte
error-broken = Inténtelo de nuevo en un momento. Si continúa, comunique este número a los responsables de este sitio: { $id }
error-other-title = Eso no ha funcionado
error-other = No se pudo entender la solicitud. Vuelva atrás e inténtelo de nuevo.
error-home = A la página de inicio

## Lo que dicen los formularios

form-sending = Un momento…
form-wait = Inténtelo de nuevo { $when }.
form-again = Ya puede intentarlo de nuevo.
form-lost = No hay conexión con el servicio. Compruebe la suya y vuelva a intentarlo.
form-failed = No ha funcionado. Inténtelo de nuevo más tarde.

## Chat

chat-open = Pregúntenos
chat-close = Cerrar
chat-you = Usted
chat-assistant = Asistente
chat-label = Su pregunta
chat-send = Enviar
chat-stop = Detener
chat-restart = Empezar de nuevo
chat-check = Escriba una pregunta de { $max } caracteres como máximo.
chat-broken = La respuesta se ha interrumpido. Pregunte otra vez si aún la necesita.
chat-left = Mensajes restantes: { $n } de { $max }

## Lo que dice el script de las páginas

script-copy = Copiar
script-copied = Copiado
script-select = Seleccionado: cópielo con el teclado

## La página de los fragmentos

embed-title = En su sitio
embed-lead = Copie un fragmento en su página: en un bloque HTML de WordPress, un embed de Webflow o la propia página. Ambos elementos existen en inglés, alemán, francés y español, siguen sus colores y solo cargan un pequeño script.
embed-preview = Vista previa
embed-newsletter = El formulario del boletín
embed-newsletter-about = Lo que está dentro del elemento es el formulario de quienes no usan JavaScript.
embed-plain = El formulario del boletín sin script
embed-plain-about = Un formulario sencillo funciona en cualquier página y lleva a una página de agradecimiento. Las personas no ven el campo `website`: quien lo rellena es un programa.
embed-chat = El chat en la página
embed-chat-about = Los visitantes eligen una sugerencia o escriben una pregunta. La conversación se guarda en su pestaña hasta que la cierran.
embed-suggestions = ¿Cómo obtengo una clave de API?|¿Qué se guarda sobre mí?
embed-button = El chat detrás de un botón
embed-button-about = El botón permanece en la esquina de la ventana y abre un panel; Escape lo cierra.
embed-button-preview = El botón está en la esquina de esta ventana.
embed-attributes = Atributos
embed-name = Nombre
embed-meaning = Efecto
embed-of-heading = Un título y una frase sobre el formulario.
embed-of-label = Las palabras junto al campo, dentro de él y en el botón.
embed-of-thanks = Lo que se dice después de una suscripción.
embed-of-suggestions = Preguntas para pulsar, separadas por `\|`.
embed-of-mode = El chat está detrás de un botón.
embed-of-privacy = La dirección de su aviso de privacidad. Debajo aparece un enlace.
embed-of-lang = El idioma: `en`, `de`, `fr` o `es`. Si falta, el de la página o, si no, el del navegador.
embed-of-theme = `light`, `dark`, o `auto` para lo que prefiera el sistema del visitante. Si falta, decide el `color-scheme` de la página.
embed-of-src = El servicio, si no es aquel del que viene el script: { $url }
embed-look = Colores y letra
embed-look-about = Los elementos solo toman de su hoja de estilos la fuente y estas propiedades. Dónde está un elemento y qué ancho tiene lo dice su página, como con cualquier otro.
embed-of-accent = Botones y enlaces, y las palabras de los botones.
embed-of-text = Texto, texto discreto, errores.
embed-of-background = Fondo, líneas, bordes de los campos.
embed-of-box = El marco, su espacio interior, las esquinas redondas.
embed-of-font = Fuente y tamaño.
embed-of-room = Cuánto puede crecer una conversación; a qué distancia de la esquina está el botón.
embed-origins = Páginas de otros orígenes
embed-origins-about = El formulario del boletín funciona en cualquier página. Para el chat, y para dar las gracias sin salir de la página, quien opera { $url } lo inicia con `--allow-origin https://www.example.com`, el origen de su página. Los mensajes que quedan los cuenta una cookie del servicio, que los navegadores solo guardan si ambos tienen el mismo dominio registrado.
embed-policy = Si su página envía una Content-Security-Policy, necesita estas fuentes. Para los estilos no necesita ninguna.

## What the assistant says around a passage

assistant-unanswered = Las páginas de este sitio no lo cuentan.
assistant-question = ¿Qué desea saber?
assistant-topics = Quizá le ayude algo de esto:
assistant-all = Todo lo demás:
assistant-more = Más:
assistant-no-pages = Todavía no hay páginas.
assistant-away = El modelo de lenguaje del asistente no está disponible en este momento. Esto viene de las páginas de este sitio y no cuenta.
