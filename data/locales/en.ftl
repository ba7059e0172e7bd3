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
newsletter-lead = Leave your address, and the next issue comes to you.
newsletter-email = E-mail address
newsletter-submit = Sign up
newsletter-trap = Leave this empty
newsletter-address-missing = Please enter your e-mail address.
newsletter-address-wrong = Please check the address. It should look like name@example.com.
newsletter-unreadable = Something went wrong on the way. Please enter your address once more.
newsletter-again = Please send it once more.
newsletter-wait = There have been many sign-ups just now. Please try again in { $wait }.
newsletter-proof = There have been several sign-ups from your network. Please send it once more: your browser then works for a moment, which keeps robots away.
newsletter-proof-wait = There have been several sign-ups from your network. Please try again in { $wait }.
newsletter-unavailable = We cannot take your address at the moment. Please try again in a few minutes.

## Thanks

thanks-title = Thank you
thanks-kept = Your address is on the list.
thanks-passed-on = Your address is with our newsletter provider. If you get a message asking you to confirm, please follow the link in it.
thanks-home = To the home page

## The frame of every page

frame-skip = Skip to the content
frame-navigation = Site
frame-home = Home
frame-help = Help
frame-developers = Developers
frame-markdown = This page as Markdown
frame-languages = Language
frame-imprint = Imprint
frame-privacy = Privacy
frame-contents = Contents

## The home page

home-promise = Be the first to hear what is new
home-lead = Leave your address, and { $name } writes to you when there is something worth reading. No account and no tracking.
home-newsletter-title = Newsletter
home-newsletter-kept = Your address is kept by the people who run this site, and passed on to nobody.
home-newsletter-passed-on = Your address goes to the newsletter’s provider at once, and is not kept here.
home-stored = What is stored about you
home-chat-title = Questions? Ask right here
home-chat-model = A language model answers, and it can be wrong. What you write is sent to the model that the people who run this site have chosen.
home-chat-search = The assistant finds the passage of our pages that fits your question. What you write is not kept.
home-chat-unscripted = Where scripts run, you can ask the assistant here. Without them, the [help page](/help) answers the usual questions.
home-suggestion-site = What is this site?
home-suggestion-leave = How do I unsubscribe?
home-suggestion-stored = What is stored about me?
home-developers-title = For developers and agents
home-developers = All of this is a free JSON API without accounts: the [developers’ page]({ $developers }) has keys and commands, the [guide]({ $docs }) explains every call, and [llms.txt]({ $llms }) lists everything there is to read.
home-more-pages = More pages
home-erp = The ERP is a separate system: <{ $url }>

## Pages of errors

error-not-found-title = This page does not exist
error-not-found = The address may be mistyped, or the page has moved. Letter case and a slash at the end count.
error-method-title = That does not work here
error-method = This address does not take what was sent. Go back and try another way.
error-too-many-title = A short break, please
error-too-many = Many requests came from your network at once. Try again in { $time }.
error-broken-title = Something went wrong on our side
error-broken = Try again in a moment. If it stays so, tell the people who run this site this number: { $id }
error-other-title = That did not work
error-other = The request could not be understood. Go back and try again.
error-home = To the home page
