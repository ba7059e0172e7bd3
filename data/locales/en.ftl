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
newsletter-lead = Leave your address and you will get the next issue.
newsletter-email = E-mail address
newsletter-submit = Sign up
newsletter-trap = Leave this empty
newsletter-address-missing = Please enter your e-mail address.
newsletter-address-wrong = Please check the address. An example: name@example.com.
newsletter-unreadable = Something went wrong: the field “{ $field }” could not be read. Please enter your address again.
newsletter-wait = There have been too many attempts to sign up. Please try again in { $wait }.
newsletter-unavailable = We cannot take your sign-up at the moment. Please try again in a few minutes.
newsletter-thanks = Thank you. We have received { $email }.

## Thanks

thanks-title = Thank you
thanks-kept = You are signed up for the newsletter.
thanks-passed-on = We have passed your address on to our newsletter provider. If you get a message asking you to confirm, please follow the link in it.
thanks-asked = Please look into your mailbox: we have sent you a mail with a link. You get the newsletter once you have confirmed it there.
thanks-back = Back to { $site }
thanks-home = Go to the home page

leave-title = Leave the newsletter
leave-lead = Do you want to get no more mails from us?
leave-submit = Leave the newsletter
left-title = You get no more mails
left-lead = Your address is no longer on the list. If you change your mind, sign up again at any time.

confirm-title = Confirm your sign-up
confirm-lead = One press, and you get the newsletter.
confirm-submit = Confirm
confirm-refuse = It was not me
confirmed-title = Confirmed
confirmed-lead = You get the newsletter from now on, and can leave it at any time.
refused-title = Removed
refused-lead = We’ve removed this address and won’t email it for 30 days, even if someone signs it up again. Changed your mind? Ask us to lift this, or sign up again after that.
unconfirmed-title = This link is good no longer
unconfirmed-lead = It was used to remove the address, or too much time has passed. If you want the newsletter, sign up again.

## The frame of every page

frame-skip = Skip to the content
frame-navigation = Main menu
frame-help = Help
frame-developers = Developers
frame-markdown = This page as Markdown
frame-languages = Language
frame-imprint = Imprint
frame-privacy = Privacy
frame-contents = Contents

## The home page

home-promise = Be the first to hear what’s new
home-lead = Leave your address, and { $name } will write to you when there is something worth reading. No account and no tracking.
home-newsletter-title = Newsletter
home-newsletter-kept = Your address is kept by the people who run this site, and passed on to nobody.
home-newsletter-passed-on = Your address goes straight to our newsletter provider and is not kept here.
home-newsletter-told = Your address is kept by the people who run this site, and passed on only to the service that sends their newsletter.
home-stored = What is stored about you
home-chat-title = Questions? Ask us
home-chat-model = Answers come from a language model and can be wrong. Your messages are sent to the model we chose.
home-chat-search = The assistant looks up your answer on our site. Your messages aren’t stored.
home-chat-unscripted = Turn on JavaScript to chat with our assistant. Or see our [help page](/help).
home-suggestion-site = What is this site?
home-suggestion-leave = How do I unsubscribe?
home-suggestion-stored = What is stored about me?
home-developers-title = For developers and agents
home-developers = All of this is also a free JSON API, with no accounts: the [developers’ page]({ $developers }) has keys and commands, the [guide]({ $docs }) explains every call, and [llms.txt]({ $llms }) lists everything there is to read.
home-more-pages = More pages
home-erp = The ERP is a separate system: <{ $url }>

## Pages of errors

error-not-found-title = This page does not exist
error-not-found = The address may be mistyped, or the page may have moved. Check for capital letters and for a slash at the end.
error-method-title = That does not work here
error-method = This address cannot handle what was sent. Go back and try another way.
error-too-many-title = Please take a short break
error-too-many = Too many requests came from your network at once. Try again in { $time }.
error-broken-title = Something went wrong on our side
error-broken = Please try again in a moment. If that does not help, give the people who run this site this number: { $id }
error-other-title = That did not work
error-other = Your request could not be understood. Go back and try again.
error-home = Go to the home page

## What forms say

form-sending = One moment …
form-wait = Too many requests. Try again { $when }.
form-again = You can try again now.
form-lost = There is no connection to the service. Are you online?
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
chat-check = Please write a question of up to { $max } characters.
chat-broken = The answer was cut off. Please ask again.
chat-left = { $n } of { $max } messages left
chat-used-up = You’ve used all your messages. You can ask again { $when }.

## What the script of the pages says

script-copy = Copy
script-copied = Copied
script-select = Selected: copy it with the keyboard

## The page with the snippets

embed-title = Put it on your site
embed-lead = Copy a snippet into your page: into an HTML block in WordPress, an embed in Webflow, or straight into the source. Both elements come in English, German, French and Spanish, can take on your colours, and load nothing but one small script.
embed-preview = Preview
embed-newsletter = The newsletter form
embed-newsletter-about = The form inside the element is for visitors without JavaScript.
embed-plain = The newsletter form without a script
embed-plain-about = A plain form works on any page and leads to a thank-you page. People do not see the field `website`: whoever fills it in is a program.
embed-chat = The chat in the page
embed-chat-about = Visitors pick a suggestion or type a question. The conversation stays in their tab until they close it.
embed-suggestions = How do I get an API key?|What is stored about me?
embed-button = The chat behind a button
embed-button-about = The button stays in the corner of the window and opens the chat; Escape closes it. If your page’s origin is [not allowed]({ $origins }), it does not appear.
embed-button-preview = The button is in the corner of this window.
embed-attributes = Attributes
embed-name = Name
embed-meaning = What it does
embed-of-heading = A heading and a sentence above the form.
embed-of-label = The field’s label and placeholder, and the words on the button.
embed-of-thanks = The thanks after a sign-up.
embed-of-suggestions = Questions to click, separated by `\|`.
embed-of-mode = Puts the chat behind a button.
embed-of-privacy = The address of your privacy notice; a link to it appears below the form.
embed-of-lang = The language: `en`, `de`, `fr` or `es`. If absent, the language of the page, or else of the browser.
embed-of-theme = `light`, `dark`, or `auto` for what the visitor’s system prefers. If absent, the page’s own `color-scheme` decides.
embed-of-src = The service’s address, if the script does not come from it: { $url }
embed-look = Colours and type
embed-look-about = The elements take nothing from your style sheet but the font and these properties. Your page decides where an element goes and how wide it is, as for any other.
embed-of-accent = Buttons and links; the words on buttons.
embed-of-text = Text, muted text, error messages.
embed-of-background = Background, lines, borders of fields.
embed-of-box = Border, padding, rounded corners.
embed-of-font = Font and size.
embed-of-room = How tall a conversation may grow; how far the button is from the corner.
embed-origins = Pages of other origins
embed-origins-about = The newsletter form works on every page. For the chat to answer, and for the form to say thank you without leaving the page, whoever runs { $url } starts it with `--allow-origin https://www.example.com`, your page’s origin. Without it, the chat shows only what is inside its element, the button does not appear, and the browser’s console says why. The remaining messages are counted by a cookie of the service, which browsers keep only if both belong to the same registered domain.
embed-origins-allowed = Allowed at present: { $origins }
embed-origins-none = No other origin is allowed at present.
embed-policy = If your page sends a Content-Security-Policy, it has to allow these sources. Styles need none.

## What the assistant says around a passage

assistant-unanswered = I couldn’t find that on our site.
assistant-question = What would you like to know?
assistant-thanks = You’re welcome!
assistant-praise = Glad to hear it!
assistant-greeting = Hello! What would you like to know?
assistant-assent = Great. Just ask if there’s anything else.
assistant-topics = Maybe one of these helps:
assistant-all = More on our site:
assistant-contact = Or ask us directly:
assistant-more = More:
assistant-away = Our assistant’s language model is unavailable right now. This answer comes from a search of our site and doesn’t count toward your limit.
