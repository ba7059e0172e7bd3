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
newsletter-lead = Deje su correo electrónico y recibirá el próximo número.
newsletter-email = Correo electrónico
newsletter-submit = Suscribirse
newsletter-trap = Deje este campo vacío
newsletter-address-missing = Escriba su correo electrónico, por favor.
newsletter-address-wrong = Revise la dirección, por favor. Ejemplo: nombre@example.com.
newsletter-unreadable = Ha habido un problema con el envío: no se pudo leer el campo «{ $field }». Escriba su dirección otra vez, por favor.
newsletter-wait = Ha habido demasiados intentos de suscripción. Inténtelo de nuevo en { $wait }, por favor.
newsletter-unavailable = En este momento no podemos registrar su suscripción. Inténtelo de nuevo en unos minutos, por favor.
newsletter-thanks = Gracias. Hemos recibido { $email }.

## Thanks

thanks-title = Gracias
thanks-kept = Su suscripción al boletín ha quedado registrada.
thanks-passed-on = Hemos enviado su dirección a nuestro proveedor de boletines. Si recibe un mensaje que le pide confirmarla, siga el enlace que contiene.
thanks-asked = Mire en su correo: le hemos enviado un mensaje con un enlace. Recibirá el boletín en cuanto lo confirme allí.
thanks-back = Volver a { $site }
thanks-home = Ir a la página de inicio

leave-title = Darse de baja del boletín
leave-lead = ¿Desea no recibir más correos nuestros?
leave-submit = Darme de baja
left-title = Ya no recibirá más correos
left-lead = Su dirección ya no está en la lista. Si cambia de opinión, puede volver a suscribirse cuando quiera.

confirm-title = Confirmar su suscripción
confirm-lead = Pulse el botón y recibirá el boletín.
confirm-submit = Confirmar
confirm-refuse = No he sido yo
confirmed-title = Suscripción confirmada
confirmed-lead = A partir de ahora recibirá el boletín, y podrá darse de baja cuando quiera.
refused-title = Dirección eliminada
refused-lead = Hemos eliminado la dirección y no le escribiremos durante 30 días, aunque alguien vuelva a registrarla. Si cambia de opinión, pídanos que levantemos este bloqueo o suscríbase de nuevo después.
unconfirmed-title = Este enlace ya no es válido
unconfirmed-lead = Se usó para eliminar la dirección, o ha pasado demasiado tiempo. Si desea el boletín, suscríbase de nuevo.

## Marco de cada página

frame-skip = Ir al contenido
frame-navigation = Menú principal
frame-help = Ayuda
frame-developers = Desarrolladores
frame-markdown = Esta página en Markdown
frame-languages = Idioma
frame-imprint = Aviso legal
frame-privacy = Privacidad
frame-contents = Contenido

## Página de inicio

home-promise = Entérese antes que nadie de las novedades
home-lead = Deje su correo electrónico y { $name } le escribirá cuando haya algo que merezca la pena leer. Sin cuenta y sin rastreo.
home-newsletter-title = Boletín
home-newsletter-kept = Los responsables de este sitio guardan su dirección y no la ceden a nadie.
home-newsletter-passed-on = Su dirección va directamente a nuestro proveedor de boletines y no se guarda aquí.
home-newsletter-told = Los responsables de este sitio guardan su dirección y solo la ceden al servicio que envía su boletín.
home-stored = Qué se guarda sobre usted
home-chat-title = ¿Tiene alguna pregunta?
home-chat-model = Responde un modelo de lenguaje, que puede equivocarse. Sus mensajes se envían al modelo que hemos elegido.
home-chat-search = Nuestro asistente busca la respuesta en nuestro sitio. Sus mensajes no se guardan.
home-chat-unscripted = Active JavaScript para preguntar a nuestro asistente. También puede consultar la [ayuda](/help).
home-suggestion-site = ¿Qué es este sitio?
home-suggestion-leave = ¿Cómo me doy de baja?
home-suggestion-stored = ¿Qué datos míos se guardan?
home-developers-title = Para desarrolladores y agentes
home-developers = Todo esto existe también como API JSON, gratuita y sin cuentas: la [página para desarrolladores]({ $developers }) ofrece claves y comandos, la [guía]({ $docs }) explica cada llamada (en inglés) y [llms.txt]({ $llms }) enumera todo lo que hay para leer.
home-more-pages = Más páginas
home-erp = El ERP es un sistema aparte: <{ $url }>

## Páginas de error

error-not-found-title = Esta página no existe
error-not-found = Puede que la dirección esté mal escrita o que la página haya cambiado de sitio. Compruebe también las mayúsculas y la barra final.
error-method-title = Esto no se puede hacer aquí
error-method = Esta dirección no puede procesar lo que se ha enviado. Vuelva atrás e inténtelo de otra manera.
error-too-many-title = Haga una breve pausa, por favor
error-too-many = Han llegado demasiadas solicitudes a la vez desde su red. Inténtelo de nuevo en { $time }.
error-broken-title = Algo ha fallado por nuestra parte
error-broken = Inténtelo de nuevo dentro de un momento. Si el problema continúa, comunique este número a los responsables de este sitio: { $id }
error-other-title = No ha funcionado
error-other = No se ha podido entender la solicitud. Vuelva atrás e inténtelo de nuevo.
error-home = Ir a la página de inicio

## Lo que dicen los formularios

form-sending = Un momento…
form-wait = Demasiadas solicitudes. Inténtelo de nuevo { $when }.
form-again = Ya puede intentarlo de nuevo.
form-lost = No hay conexión con el servicio. ¿Está en línea?
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
chat-broken = La respuesta se ha interrumpido. Vuelva a preguntar, por favor.
chat-left = Mensajes restantes: { $n } de { $max }
chat-used-up = Ha usado todos sus mensajes. Podrá continuar { $when }.

## Lo que dice el script de las páginas

script-copy = Copiar
script-copied = Copiado
script-select = Seleccionado: cópielo con el teclado

## La página de los fragmentos

embed-title = Para su sitio web
embed-lead = Copie un fragmento en su página: en un bloque HTML de WordPress, en un embed de Webflow o directamente en el código fuente. Ambos elementos existen en español, inglés, alemán y francés, se adaptan a sus colores y solo cargan un pequeño script.
embed-preview = Vista previa
embed-newsletter = El formulario del boletín
embed-newsletter-about = El formulario que está dentro del elemento es para quienes no usan JavaScript.
embed-plain = El formulario del boletín sin script
embed-plain-about = Un formulario sencillo funciona en cualquier página y lleva a una página de agradecimiento. Las personas no ven el campo `website`: quien lo rellena es un programa.
embed-chat = El chat en la página
embed-chat-about = Los visitantes eligen una sugerencia o escriben una pregunta. La conversación se conserva en su pestaña hasta que la cierran.
embed-suggestions = ¿Cómo obtengo una clave de API?|¿Qué datos míos se guardan?
embed-button = El chat detrás de un botón
embed-button-about = El botón permanece en la esquina de la ventana y abre el chat; Escape lo cierra. Si el origen de su página [no está permitido]({ $origins }), no aparece.
embed-button-preview = El botón está en la esquina de esta ventana.
embed-attributes = Atributos
embed-name = Nombre
embed-meaning = Efecto
embed-of-heading = Un título y una frase sobre el formulario.
embed-of-label = La etiqueta del campo, su texto de ejemplo y el texto del botón.
embed-of-thanks = El agradecimiento después de una suscripción.
embed-of-suggestions = Preguntas para elegir, separadas por `\|`.
embed-of-mode = Pone el chat detrás de un botón.
embed-of-privacy = La dirección de su aviso de privacidad; el enlace aparece debajo del formulario.
embed-of-lang = El idioma: `en`, `de`, `fr` o `es`. Si falta, el de la página o, en su defecto, el del navegador.
embed-of-theme = `light`, `dark`, o `auto` para lo que prefiera el sistema del visitante. Si falta, decide el `color-scheme` de la página.
embed-of-src = La dirección del servicio, si el script no viene de allí: { $url }
embed-look = Colores y tipografía
embed-look-about = Los elementos solo toman de su hoja de estilos la fuente y estas propiedades. Su página decide dónde está cada elemento y qué ancho tiene, como con cualquier otro.
embed-of-accent = Botones y enlaces; texto de los botones.
embed-of-text = Texto, texto atenuado, mensajes de error.
embed-of-background = Fondo, líneas, bordes de los campos.
embed-of-box = Borde, espacio interior, esquinas redondeadas.
embed-of-font = Fuente y tamaño.
embed-of-room = Altura máxima de una conversación; distancia del botón a la esquina.
embed-origins = Páginas de otros orígenes
embed-origins-about = El formulario del boletín funciona en cualquier página. Para que el chat responda, y el formulario dé las gracias sin cambiar de página, quien opera { $url } inicia el servicio con `--allow-origin https://www.example.com`, el origen de su página. Sin ello, el chat solo muestra lo que contiene su elemento, el botón no aparece y la consola del navegador indica el motivo. Los mensajes restantes los cuenta una cookie del servicio, que los navegadores solo conservan si ambos pertenecen al mismo dominio registrado.
embed-origins-allowed = Permitidos actualmente: { $origins }
embed-origins-none = Actualmente no se permite ningún otro origen.
embed-policy = Si su página envía una Content-Security-Policy, debe permitir estas fuentes. Los estilos no necesitan ninguna.

## What the assistant says around a passage

assistant-unanswered = No he encontrado nada sobre eso en nuestro sitio.
assistant-question = ¿Qué desea saber?
assistant-thanks = ¡De nada!
assistant-praise = ¡Me alegro!
assistant-greeting = ¡Hola! ¿Qué desea saber?
assistant-assent = Perfecto. Si tiene otra pregunta, aquí estoy.
assistant-topics = Quizá le ayude alguno de estos temas:
assistant-all = Más en nuestro sitio:
assistant-contact = O pregúntenos directamente:
assistant-more = Más información:
assistant-away = El modelo de lenguaje de nuestro asistente no está disponible en este momento. Esta respuesta procede de una búsqueda en nuestro sitio y no cuenta para su límite.
