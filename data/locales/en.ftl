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
newsletter-thanks = Thank you. { $email } has arrived.

## Thanks

thanks-title = Thank you
thanks-kept = Your address is on the list.
thanks-passed-on = Your address is with our newsletter provider. If you get a message asking you to confirm, please follow the link in it.
thanks-home = To the home page

## The frame of every page

frame-skip = Skip to the content
frame-navigation = Site
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

## What forms say

form-sending = One moment …
form-wait = Try again { $when }.
form-again = You can try again now.
form-lost = There is no connection to the service. Please check yours, then try again.
form-failed = That did not work. Please try again later.

## Chat

chat-open = Ask us
chat-close = Close
chat-you = You
chat-assistant = Assistant
chat-label = Your question
chat-send = Send
chat-stop = Stop
chat-restart = Start over
chat-check = Please write a question of at most { $max } characters.
chat-broken = The answer broke off. Please ask again if you still need it.
chat-left = { $n } of { $max } messages left

## What the script of the pages says

script-copy = Copy
script-copied = Copied
script-select = Selected: copy it by keyboard

## The page with the snippets

embed-title = Put it on your site
embed-lead = Copy a snippet into your page: into an HTML block of WordPress, an embed of Webflow, or the page itself. Both elements come in English, German, French and Spanish, follow your colours, and load nothing but one small script.
embed-preview = Preview
embed-newsletter = The newsletter form
embed-newsletter-about = What stands inside the element is the form of visitors without JavaScript.
embed-plain = The newsletter form without a script
embed-plain-about = A plain form works on any page, and leads to a page that says thank you. People do not see the field `website`: whoever fills it in is a program.
embed-chat = The chat in the page
embed-chat-about = Visitors press a suggestion or type a question. The conversation is kept in their tab until they close it.
embed-suggestions = How do I get an API key?|What is stored about me?
embed-button = The chat behind a button
embed-button-about = The button stays in the corner of the window and opens a panel; Escape closes it.
embed-button-preview = The button is in the corner of this window.
embed-attributes = Attributes
embed-name = Name
embed-meaning = What it does
embed-of-heading = A heading and a sentence above the form.
embed-of-label = The words at the field, in it and on the button.
embed-of-thanks = What is said after a sign-up.
embed-of-suggestions = Questions to press, with `\|` between them.
embed-of-mode = The chat stands behind a button.
embed-of-privacy = The address of your privacy notice. A link to it stands below.
embed-of-lang = The language: `en`, `de`, `fr` or `es`. Without it, that of the page, or else of the browser.
embed-of-theme = `light`, `dark`, or `auto` for what the visitor’s system prefers. Without it, the page’s own `color-scheme` decides.
embed-of-src = The service, if it is not the one that the script is from: { $url }
embed-look = Colours and type
embed-look-about = The elements take nothing from your style sheet but the font and these properties. Where an element stands and how wide it is, your page says as for any other.
embed-of-accent = Buttons and links, and the words on buttons.
embed-of-text = Text, quieter text, errors.
embed-of-background = Background, lines, the edges of fields.
embed-of-box = The frame, the room inside it, round corners.
embed-of-font = Font and size.
embed-of-room = How high a conversation may grow; how far the button is from the corner.
embed-origins = Pages of other origins
embed-origins-about = The newsletter form works on every page. For the chat, and to say thank you without leaving the page, whoever runs { $url } starts it with `--allow-origin https://www.example.com`, your page’s origin. The messages left are counted by a cookie of the service, which browsers keep only where both have the same registered domain.
embed-policy = If your page sends a Content-Security-Policy, it needs these sources. It needs none for styles.

## What the assistant says around a passage

assistant-unanswered = The pages of this service do not answer that.
assistant-question = What would you like to know?
assistant-topics = Perhaps one of these helps:
assistant-all = Everything else:
assistant-more = More:
assistant-no-pages = There are no pages yet.
assistant-away = The assistant’s language model is away just now. This is from the pages of this site, and it does not count.
