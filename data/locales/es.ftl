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

## Thanks

thanks-title = Gracias
thanks-kept = Su dirección está en la lista.
thanks-passed-on = Su dirección está con nuestro proveedor de boletines. Si recibe un mensaje que le pide confirmarla, siga el enlace que contiene.
thanks-home = A la página de inicio

## Marco de cada página

frame-skip = Ir al contenido
frame-navigation = Sitio
frame-home = Inicio
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
