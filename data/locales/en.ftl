# What the pages say, in English. Every language has the same messages with the same arguments.

## Lengths of time

duration-seconds = { $n ->
    [one] { $n } second
   *[other] { $n } seconds
}
duration-minutes = { $n ->
    [one] { $n } minute
   *[other] { $n } minutes
}
duration-hours = { $n ->
    [one] { $n } hour
   *[other] { $n } hours
}
duration-days = { $n ->
    [one] { $n } day
   *[other] { $n } days
}

## Newsletter form

newsletter-title = Newsletter
newsletter-email = E-mail address
newsletter-submit = Sign up
