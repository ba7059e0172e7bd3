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
newsletter-email = Correo electrónico
newsletter-submit = Suscribirse
