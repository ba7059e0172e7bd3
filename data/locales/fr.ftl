# Ce que disent les pages, en français.

## Durées

duration-seconds = { $n ->
    [one] { $n } seconde
   *[other] { $n } secondes
}
duration-minutes = { $n ->
    [one] { $n } minute
   *[other] { $n } minutes
}
duration-hours = { $n ->
    [one] { $n } heure
   *[other] { $n } heures
}
duration-days = { $n ->
    [one] { $n } jour
   *[other] { $n } jours
}

## Newsletter form

newsletter-title = Newsletter
newsletter-email = Adresse e-mail
newsletter-submit = S’inscrire
