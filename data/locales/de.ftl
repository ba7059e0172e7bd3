# Was die Seiten sagen, auf Deutsch.

## Zeitspannen

duration-seconds = { $n ->
    [one] { $n } Sekunde
   *[other] { $n } Sekunden
}
duration-minutes = { $n ->
    [one] { $n } Minute
   *[other] { $n } Minuten
}
duration-hours = { $n ->
    [one] { $n } Stunde
   *[other] { $n } Stunden
}
duration-days = { $n ->
    [one] { $n } Tag
   *[other] { $n } Tage
}

## Newsletter form

newsletter-title = Newsletter
newsletter-email = E-Mail-Adresse
newsletter-submit = Anmelden
