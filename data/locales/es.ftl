# Los textos de las páginas en español.

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
newsletter-lead = Escriba su correo electrónico para suscribirse a nuestro boletín.
newsletter-email = Correo electrónico
newsletter-submit = Suscribirse
newsletter-trap = Deje este campo vacío
newsletter-address-missing = Escriba su correo electrónico.
newsletter-address-wrong = Revise la dirección. Ejemplo: nombre@example.com.
newsletter-unreadable = Ha habido un problema con el envío: no se pudo leer el campo «{ $field }». Escriba su dirección otra vez.
newsletter-wait = Demasiados intentos de suscripción. Inténtelo de nuevo en { $wait }.
newsletter-unavailable = En este momento no podemos registrar su suscripción. Inténtelo de nuevo en unos minutos.
newsletter-thanks = Gracias. Hemos recibido { $email }.
newsletter-asked = Revise su bandeja de entrada: haga clic en el enlace enviado a { $email }.

## Thanks

thanks-title = Gracias
thanks-asked-title = Revise su bandeja de entrada
thanks-kept = Se ha suscrito a nuestro boletín.
thanks-passed-on = Hemos enviado su dirección a nuestro proveedor de boletines. Si recibe un correo que le pide confirmar la suscripción, haga clic en el enlace que contiene.
thanks-asked = Para confirmar su suscripción, haga clic en el enlace del correo que acabamos de enviarle. ¿No lo encuentra? Mire en la carpeta de correo no deseado. Si ya recibe el boletín, no tiene que hacer nada.
thanks-back = Volver a { $site }
thanks-home = Ir a la página de inicio

leave-title = Darse de baja
leave-lead = ¿Quiere darse de baja del boletín de { $name }?
leave-submit = Darme de baja
left-title = Se ha dado de baja
left-lead = Ya no recibirá el boletín de { $name }. Si cambia de opinión, puede volver a suscribirse cuando quiera.
left-again-title = Ya se había dado de baja
left-again-lead = Ya se había dado de baja del boletín de { $name }; no ha cambiado nada. Si cambia de opinión, puede volver a suscribirse cuando quiera.
left-unknown-title = Este enlace ha caducado
left-unknown-lead = Ya no corresponde a ninguna suscripción. Si todavía recibe el boletín de { $name }, utilice el enlace del último correo.

confirm-title = Confirmar su suscripción
confirm-lead = Pulse el botón para recibir el boletín de { $name }.
confirm-submit = Confirmar suscripción
confirm-refuse = No he sido yo
confirm-mail-link = Si el botón no funciona, abra este enlace:
confirm-mail-reason = Recibe este correo porque esta dirección se suscribió al boletín en { $site }.
confirmed-title = Suscripción confirmada
confirmed-lead = Gracias por confirmarla. A partir de ahora recibirá el boletín de { $name } y podrá darse de baja cuando quiera.
confirmed-again-title = Su suscripción ya estaba confirmada
confirmed-again-lead = Ya recibe el boletín de { $name }; no ha cambiado nada. Puede darse de baja cuando quiera.
refused-title = Dirección eliminada
refused-lead = Hemos eliminado esta dirección y no le escribiremos durante 30 días, aunque alguien vuelva a suscribirla al boletín de { $name }. ¿Ha cambiado de opinión? Pídanos que levantemos este bloqueo o suscríbase de nuevo después.
unconfirmed-title = Este enlace ha caducado
unconfirmed-lead = Ha pasado demasiado tiempo o la dirección se eliminó. Si quiere recibir el boletín de { $name }, suscríbase de nuevo. Si fue usted quien eliminó la dirección en los últimos 30 días, póngase antes en contacto con nosotros.

## Marco de cada página

frame-skip = Ir al contenido
frame-navigation = Menú principal
frame-help = Ayuda
frame-developers = Desarrolladores
frame-guide = Guía
frame-reference = Referencia de la API
frame-embed = Insertar
frame-markdown = Esta página en Markdown
frame-languages = Idioma
frame-imprint = Aviso legal
frame-privacy = Privacidad
frame-contents = Contenido

## Página de inicio

home-promise = Entérese antes que nadie de las novedades
home-lead = Suscríbase y { $name } le escribirá cuando haya algo que merezca la pena leer. Sin cuenta y sin rastreo.
home-newsletter-title = Boletín
home-newsletter-kept = Los responsables de este sitio guardan su dirección y no la comparten con nadie.
home-newsletter-passed-on = Su dirección va directamente a nuestro proveedor de boletines y no se guarda aquí.
home-newsletter-told = Los responsables de este sitio guardan su dirección y solo la comparten con los servicios que envían nuestros correos.
home-newsletter-ip = También se guarda su dirección IP como prueba de su suscripción.
home-stored = Qué datos guardamos
home-chat-title = ¿Tiene alguna pregunta?
home-chat-model = Responde un modelo de lenguaje, que puede equivocarse. Sus mensajes se envían al modelo que hemos elegido.
home-chat-search = Nuestro asistente busca la respuesta en nuestro sitio. Sus mensajes no se guardan.
home-chat-questions = Nuestro asistente busca la respuesta en nuestro sitio. Las preguntas sin respuesta se guardan y se borran al cabo de { duration-days }; no se guarda quién las hizo.
home-chat-unscripted = Active JavaScript para preguntar a nuestro asistente. También puede consultar la [ayuda](/help).
home-suggestion-site = ¿Qué es este sitio?
home-suggestion-leave = ¿Cómo me doy de baja?
home-suggestion-stored = ¿Qué datos míos se guardan?
home-developers-title = Para desarrolladores y agentes
home-developers = Todo está disponible también mediante una API JSON gratuita y sin cuenta: la [página para desarrolladores]({ $developers }) ofrece claves y comandos de ejemplo, la [guía]({ $docs }) explica cada llamada (en inglés) y [llms.txt]({ $llms }) contiene un índice de todos los documentos.
home-more-pages = Más páginas
home-erp = El ERP es un sistema aparte: <{ $url }>

## Qué se guarda, se comparte y se cuenta: data/statements.txt indica cuándo es cierta cada frase

privacy-nothing = Cuando usted se suscribe, nuestro formulario del boletín no guarda nada sobre usted: su dirección de correo electrónico va directamente al servicio que envía el boletín, y a nadie más.
privacy-contact = Cuando usted se suscribe, nuestro formulario del boletín guarda su dirección de correo electrónico, la fecha y el idioma de la suscripción, la página y el texto del formulario, y huellas de las últimas cuatro redes o programas desde los que se suscribió la dirección.
privacy-confirmation = También guarda cuándo se envió el correo de confirmación y cuándo confirmó usted.
privacy-ip = Su dirección IP se guarda con estos datos como prueba de su consentimiento; para todo lo demás, de ella solo se obtiene una huella que ayuda a limitar los abusos.
privacy-no-ip = Su dirección IP no se guarda; de ella solo se obtiene una huella que ayuda a limitar los abusos.
privacy-unshared = Nada de ello se comparte con nadie.
privacy-shared = Su dirección y el estado de su suscripción se comparten únicamente con los servicios que envían nuestros correos.
privacy-chat = Lo que escribe en el chat no se guarda aquí.
privacy-questions = Las preguntas para las que el chat no encuentra respuesta se guardan y se borran al cabo de { duration-days }, para que los responsables de este sitio puedan mejorarlo. No se guarda quién las hizo, y las direcciones de correo electrónico y los números largos se ocultan antes. No se guarda nada más de lo que escribe en el chat.
privacy-erased-elsewhere = Pida a los responsables de este sitio que borren sus datos: su dirección no se guarda aquí, sino en el servicio que envía el boletín, y allí pueden hacer que la quiten.
privacy-erased = Pida a los responsables de este sitio que borren sus datos; entonces eliminarán su dirección de correo electrónico y todo lo que se guarda con él. Solo queda una huella de la que nadie puede deducir la dirección, para que no vuelva con una lista antigua.
privacy-erased-chat = Lo que escribió en el chat no hace falta borrarlo, pues aquí no se guarda.
privacy-erased-questions = Las preguntas para las que el chat no encontró respuesta se guardan sin indicar quién las hizo y se borran automáticamente al cabo de { duration-days }; no se guarda nada más de lo que escribió en el chat.
privacy-erased-cookie = La cookie del chat puede borrarla en su navegador.
privacy-no-tracking = No hay seguimiento, ni publicidad, ni servicio de estadísticas.
privacy-cookie = La única cookie es la del chat: contiene un número aleatorio, se crea con su primer mensaje y solo sirve para contar sus mensajes. Si nunca usa el chat, no recibe ninguna cookie.
privacy-no-cookie = No se crean cookies, ni siquiera en el chat.
privacy-chat-model = Lo que escribe no se guarda aquí, pero se envía al modelo de lenguaje que han elegido los responsables de este sitio. Su dirección IP y sus cookies no se envían con el mensaje; pregúnteles dónde funciona ese modelo y qué se guarda allí.
privacy-chat-here = Lo que escribe en el chat se responde aquí, no se envía a nadie más y no se guarda.
privacy-chat-answered = Lo que escribe en el chat se responde aquí y no se envía a nadie más.
privacy-purpose = Su dirección sirve solo para el boletín.
privacy-unlisted = Nadie puede comprobar aquí si está en la lista.
privacy-listed = Quien la suscribe mediante la API averigua si ya estaba en la lista.
privacy-safe-elsewhere = Va al servicio que envía el boletín, por una conexión cifrada si ese servicio la ofrece.
privacy-safe-here = La guardan los responsables de este sitio.
privacy-logs = Los registros no contienen direcciones de correo electrónico, direcciones IP, claves ni cookies.
privacy-unshown = Ninguna página de este sitio muestra direcciones.

## Páginas de error

error-not-found-title = Esta página no existe
error-not-found = Puede que la dirección contenga un error o que la página se haya movido. Compruebe también las mayúsculas y la barra final.
error-method-title = Esto no se puede hacer aquí
error-method = Esta página no puede procesar su solicitud. Vuelva atrás e inténtelo de otra manera.
error-too-many-title = Demasiadas solicitudes
error-too-many = Hemos recibido demasiadas solicitudes desde su red. Inténtelo de nuevo en { $time }.
error-broken-title = Se ha producido un error por nuestra parte
error-broken = Inténtelo de nuevo dentro de un momento. Si el problema continúa, póngase en contacto con nosotros e indique este número: { $id }
error-other-title = No ha funcionado
error-other = No hemos podido procesar su solicitud. Vuelva atrás e inténtelo de nuevo.
error-home = Ir a la página de inicio

## Formularios

form-sending = Un momento…
form-wait = Demasiadas solicitudes. Inténtelo de nuevo { $when }.
form-again = Ya puede intentarlo de nuevo.
form-lost = No se puede conectar con el servicio. Compruebe su conexión a internet.
form-failed = Se ha producido un error. Inténtelo de nuevo más tarde.

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

## El script de las páginas

script-copy = Copiar
script-copied = Copiado
script-select = Texto seleccionado: cópielo con el teclado

## La página de los fragmentos

embed-title = Añadir a su sitio web
embed-lead = Pegue un fragmento en su página: en un bloque HTML de WordPress, en un elemento Embed de Webflow o directamente en el código fuente. Ambos elementos están disponibles en español, inglés, alemán y francés, se adaptan a sus colores y solo cargan un pequeño script.
embed-preview = Vista previa
embed-newsletter = El formulario del boletín
embed-newsletter-about = El formulario que está dentro del elemento es para los visitantes sin JavaScript.
embed-plain = El formulario del boletín sin script
embed-plain-about = Un formulario sencillo funciona en cualquier página y lleva a una página de agradecimiento. El campo `website` está oculto para las personas; solo lo rellenan los bots.
embed-chat = El chat en la página
embed-chat-about = Los visitantes eligen una sugerencia o escriben una pregunta. La conversación se conserva en su pestaña hasta que la cierran.
embed-suggestions = ¿Cómo obtengo una clave de API?|¿Qué datos míos se guardan?
embed-button = El chat detrás de un botón
embed-button-about = El botón permanece en la esquina de la ventana y abre el chat; Escape lo cierra. Si el origen de su página [no está permitido]({ $origins }), el botón no aparece.
embed-button-preview = El botón está en la esquina de esta ventana.
embed-attributes = Atributos
embed-name = Nombre
embed-meaning = Descripción
embed-of-heading = Título e introducción sobre el formulario.
embed-of-label = Etiqueta del campo, texto de ejemplo y texto del botón.
embed-of-thanks = Mensaje tras la suscripción.
embed-of-asked = Mensaje tras una suscripción que debe confirmarse por correo.
embed-of-suggestions = Preguntas sugeridas, separadas por `\|`.
embed-of-mode = Abre el chat desde un botón.
embed-of-privacy = URL de su política de privacidad; el enlace aparece debajo del formulario.
embed-of-lang = Idioma: `en`, `de`, `fr` o `es`. Por defecto, el de la página o, si no lo indica, el del navegador.
embed-of-theme = `light`, `dark`, o `auto` para seguir el sistema del visitante. Por defecto, el `color-scheme` de la página.
embed-of-src = URL del servicio, si el script no se carga desde él: { $url }
embed-look = Colores y tipografía
embed-look-about = Los elementos solo toman de su hoja de estilos la fuente y estas propiedades. La posición y el ancho dependen de su página, como con cualquier otro elemento.
embed-of-accent = Botones y enlaces; texto de los botones.
embed-of-text = Texto, texto atenuado, mensajes de error.
embed-of-background = Fondo, líneas, bordes de los campos.
embed-of-box = Borde, margen interior, esquinas redondeadas.
embed-of-font = Fuente y tamaño.
embed-of-room = Altura máxima de una conversación; distancia del botón a la esquina.
embed-origins = Páginas de otros orígenes
embed-origins-about = El formulario del boletín funciona en cualquier página. Para que funcione el chat, y para que el agradecimiento aparezca sin cambiar de página, quien administra { $url } debe iniciar el servicio con `--allow-origin https://www.example.com`, el origen de su página. De lo contrario, el chat solo muestra el contenido de su elemento, el botón no aparece y la consola del navegador indica el motivo. Los mensajes restantes se cuentan con una cookie que los navegadores solo conservan si ambos sitios pertenecen al mismo dominio registrado.
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
