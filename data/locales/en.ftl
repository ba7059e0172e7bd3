# The texts of the pages in English. Every language has the same messages with the same arguments.

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
newsletter-lead = Enter your email address to subscribe to our newsletter.
newsletter-email = Email address
newsletter-submit = Sign up
newsletter-trap = Leave this empty
newsletter-address-missing = Please enter your email address.
newsletter-address-wrong = Please check the address. An example: name@example.com.
newsletter-unreadable = Something went wrong: the field “{ $field }” couldn’t be read. Please enter your address again.
newsletter-wait = Too many attempts to sign up. Please try again in { $wait }.
newsletter-unavailable = We can’t sign you up right now. Please try again in a few minutes.
newsletter-thanks = Thank you. We have received { $email }.
newsletter-asked = Check your inbox: click the link we sent to { $email }.

## Thanks

thanks-title = Thank you
thanks-asked-title = Check your inbox
thanks-kept = You’re subscribed to our newsletter.
thanks-passed-on = We’ve passed your address on to our newsletter provider. If you get an email asking you to confirm, click the link in it.
thanks-asked = Click the link in the email we just sent you to confirm your subscription. Can’t find it? Look in your spam folder. If you’re already subscribed, there is nothing to do.
thanks-back = Back to { $site }
thanks-home = Go to the home page

leave-title = Unsubscribe
leave-lead = Do you want to unsubscribe from the { $name } newsletter?
leave-submit = Unsubscribe
left-title = You’re unsubscribed
left-lead = You won’t get the { $name } newsletter any more. Changed your mind? You can sign up again at any time.
left-again-title = You’re already unsubscribed
left-again-lead = You had already unsubscribed from the { $name } newsletter; nothing has changed. Changed your mind? You can sign up again at any time.
left-unknown-title = This link has expired
left-unknown-lead = It no longer belongs to a subscription. If you still get the { $name } newsletter, use the link in the latest email.

confirm-title = Confirm your subscription
confirm-lead = Click the button to get the { $name } newsletter.
confirm-submit = Confirm subscription
confirm-refuse = This wasn’t me
confirm-mail-link = If the button doesn’t work, open this link:
confirm-mail-reason = You received this email because this address was signed up for the newsletter at { $site }.
confirmed-title = You’re subscribed
confirmed-lead = Thank you for confirming. You’ll get the { $name } newsletter from now on, and you can unsubscribe at any time.
confirmed-again-title = You’re already subscribed
confirmed-again-lead = You already get the { $name } newsletter; nothing has changed. You can unsubscribe at any time.
refused-title = Address removed
refused-lead = We’ve removed this address and won’t email it for 30 days, even if someone signs it up for the { $name } newsletter again. Changed your mind? Ask us to lift this, or sign up again after that.
unconfirmed-title = This link has expired
unconfirmed-lead = Too much time has passed, or the address was removed. If you’d like the { $name } newsletter, sign up again. If you removed the address yourself in the last 30 days, please contact us first.

## The frame of every page

frame-skip = Skip to content
frame-navigation = Main menu
frame-help = Help
frame-developers = Developers
frame-guide = Guide
frame-reference = API reference
frame-embed = Embed
frame-markdown = This page as Markdown
frame-languages = Language
frame-imprint = Imprint
frame-privacy = Privacy
frame-contents = Contents

## The home page

home-promise = Be the first to hear what’s new
home-lead = Subscribe, and { $name } will email you when there is something worth reading. No account and no tracking.
home-newsletter-title = Newsletter
home-newsletter-kept = Your address is stored by the people who run this site and not shared with anyone.
home-newsletter-passed-on = Your address goes straight to our newsletter provider and isn’t stored here.
home-newsletter-told = Your address is stored by the people who run this site and shared only with the services that send our emails.
home-newsletter-ip = Your IP address is stored with it as proof of your sign-up.
home-stored = What we store about you
home-chat-title = Questions? Ask us
home-chat-model = Answers come from a language model and can be wrong. Your messages are sent to the model we chose.
home-chat-search = The assistant looks up your answer on our site. Your messages aren’t stored.
home-chat-questions = The assistant looks up your answer on our site. Questions it can’t answer are stored for { duration-days }, but not who asked them.
home-chat-unscripted = Turn on JavaScript to chat with our assistant. Or see our [help page](/help).
home-suggestion-site = What is this site?
home-suggestion-leave = How do I unsubscribe?
home-suggestion-stored = What is stored about me?
home-developers-title = For developers and agents
home-developers = Everything here is also available through a free JSON API, with no account: the [developers’ page]({ $developers }) has keys and sample commands, the [guide]({ $docs }) explains every call, and [llms.txt]({ $llms }) is an index of all documents.
home-more-pages = More pages
home-erp = The ERP is a separate system: <{ $url }>

## What is stored, shared and counted: data/statements.txt has when each of these is true

privacy-nothing = Our newsletter form stores nothing about you when you sign up: your email address goes straight to the service that sends the newsletter, and to nobody else.
privacy-contact = When you sign up, our newsletter form stores your email address, the time and language of the sign-up, the page and the wording of the form, and fingerprints of the last four networks or programs that signed the address up.
privacy-confirmation = It also stores when the confirmation email was sent and when you confirmed.
privacy-ip = Your IP address is stored with this as proof of your consent; for anything else it is only turned into a fingerprint that helps to limit abuse.
privacy-no-ip = Your IP address is not stored; it is only turned into a fingerprint that helps to limit abuse.
privacy-unshared = None of it is shared with anyone.
privacy-shared = Your address and the state of your subscription are shared with the services that send our emails, and with nobody else.
privacy-chat = What you write in the chat is not stored here.
privacy-questions = Questions that the chat finds no answer to are stored for { duration-days }, so that the people who run this site can improve it. Who asked is not stored, and email addresses and long numbers are masked first. Nothing else you write in the chat is stored.
privacy-erased-elsewhere = Ask the people who run this site to delete your data: your address is not stored here but with the service that sends their newsletter, and they can have it removed there.
privacy-erased = Ask the people who run this site to delete your data, and they erase your email address with everything stored about it. All that remains is a fingerprint from which nobody can read the address, so that an old list does not bring it back.
privacy-erased-chat = What you wrote in the chat need not be deleted, as it is not stored here.
privacy-erased-questions = Questions that the chat could not answer are stored without a record of who asked, and deleted automatically after { duration-days }; nothing else you wrote in the chat is stored.
privacy-erased-cookie = You can delete the chat’s cookie in your browser.
privacy-no-tracking = There is no tracking, no advertising and no statistics service.
privacy-cookie = The only cookie is that of the chat: it holds a random number, is set when you send your first message, and only counts your messages. If you never use the chat, you get no cookie at all.
privacy-no-cookie = No cookies are set, not even by the chat.
privacy-chat-model = What you write is not stored here, but it is sent to the language model that the people who run this site have chosen. Your IP address and your cookies are not sent with it; ask them where that model runs and what is stored there.
privacy-chat-here = What you write in the chat is answered here, goes to nobody else, and is not stored.
privacy-chat-answered = What you write in the chat is answered here and goes to nobody else.
privacy-purpose = Your address is used only for the newsletter.
privacy-unlisted = Nobody can look up here whether it is on the list.
privacy-listed = Anyone who signs it up through the API learns whether it was on the list before.
privacy-safe-elsewhere = It goes to the service that sends the newsletter, over an encrypted connection if that service offers one.
privacy-safe-here = It is stored by the people who run this site.
privacy-logs = The logs hold no email addresses, IP addresses, keys or cookies.
privacy-unshown = No page of this site shows addresses.

## Pages of errors

error-not-found-title = This page does not exist
error-not-found = Check the address for typos, capital letters or a slash at the end. The page may also have moved.
error-method-title = That does not work here
error-method = This page can’t handle that request. Go back and try another way.
error-too-many-title = Too many requests
error-too-many = We’ve received too many requests from your network. Please try again in { $time }.
error-broken-title = Something went wrong on our end
error-broken = Please try again in a moment. If the problem persists, contact us and mention this number: { $id }
error-other-title = That didn’t work
error-other = We couldn’t process your request. Please go back and try again.
error-home = Go to the home page

## Forms

form-sending = One moment…
form-wait = Too many requests. Try again { $when }.
form-again = You can try again now.
form-lost = Can’t reach the service. Check your internet connection.
form-failed = Something went wrong. Please try again later.

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

## The script of the pages

script-copy = Copy
script-copied = Copied
script-select = Selected: copy it with the keyboard

## The page with the snippets

embed-title = Put it on your site
embed-lead = Paste a snippet into your page: into an HTML block in WordPress, an Embed element in Webflow, or the page source. Both elements come in English, German, French and Spanish, adapt to your colours, and load just one small script.
embed-preview = Preview
embed-newsletter = The newsletter form
embed-newsletter-about = The form inside the element is for visitors without JavaScript.
embed-plain = The newsletter form without a script
embed-plain-about = A plain form works on any page and leads to a thank-you page. The `website` field is hidden from people; only bots fill it in.
embed-chat = The chat in the page
embed-chat-about = Visitors pick a suggestion or type a question. The conversation stays in their tab until they close it.
embed-suggestions = How do I get an API key?|What is stored about me?
embed-button = The chat behind a button
embed-button-about = The button stays in the corner of the window and opens the chat; Escape closes it. If your page’s origin is [not allowed]({ $origins }), the button does not appear.
embed-button-preview = The button is in the corner of this window.
embed-attributes = Attributes
embed-name = Name
embed-meaning = Description
embed-of-heading = Heading and introduction above the form.
embed-of-label = Label and placeholder of the field, text of the button.
embed-of-thanks = Message after a sign-up.
embed-of-asked = Message after a sign-up that must be confirmed by email.
embed-of-suggestions = Suggested questions, separated by `\|`.
embed-of-mode = Opens the chat from a button.
embed-of-privacy = URL of your privacy notice, linked below the form.
embed-of-lang = Language: `en`, `de`, `fr` or `es`. Defaults to the language of the page, then of the browser.
embed-of-theme = `light`, `dark`, or `auto` to follow the visitor’s system. Defaults to the `color-scheme` of the page.
embed-of-src = URL of the service, if the script is not loaded from there: { $url }
embed-look = Colours and type
embed-look-about = The elements inherit only the font and these properties from your style sheet. Your page decides their position and width, as with any other element.
embed-of-accent = Buttons and links; text on buttons.
embed-of-text = Text, muted text, error messages.
embed-of-background = Background, lines, field borders.
embed-of-box = Border, padding, rounded corners.
embed-of-font = Font and size.
embed-of-room = Maximum height of a conversation; distance of the button from the corner.
embed-origins = Pages of other origins
embed-origins-about = The newsletter form works on any page. For the chat to work, and for the form to say thank you without leaving the page, the operator of { $url } has to start it with `--allow-origin https://www.example.com`, the origin of your page. Otherwise the chat shows only the content of its element, the button does not appear, and the browser console says why. Remaining messages are counted with a cookie, which browsers keep only if both sites share the same registered domain.
embed-origins-allowed = Currently allowed: { $origins }
embed-origins-none = No other origins are allowed at the moment.
embed-policy = If your page sends a Content-Security-Policy, it must allow these sources. Styles need none.

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
assistant-away = Our assistant’s language model is unavailable right now. This answer comes from a search of our site and doesn’t count towards your limit.
