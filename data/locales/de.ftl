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
   *[other] { $n } Tagen
}

## Newsletter form

newsletter-title = Newsletter
newsletter-lead = Tragen Sie Ihre E-Mail-Adresse ein, dann erhalten Sie die nächste Ausgabe.
newsletter-email = E-Mail-Adresse
newsletter-submit = Anmelden
newsletter-trap = Bitte leer lassen
newsletter-address-missing = Bitte geben Sie Ihre E-Mail-Adresse ein.
newsletter-address-wrong = Bitte prüfen Sie die Adresse. Ein Beispiel: name@example.com.
newsletter-unreadable = Bei der Übertragung ist etwas schiefgegangen: Das Feld „{ $field }“ war nicht lesbar. Bitte geben Sie Ihre Adresse noch einmal ein.
newsletter-wait = Es gab gerade zu viele Anmeldeversuche. Bitte versuchen Sie es in { $wait } noch einmal.
newsletter-unavailable = Wir können Ihre Anmeldung gerade nicht entgegennehmen. Bitte versuchen Sie es in ein paar Minuten noch einmal.
newsletter-thanks = Vielen Dank. Wir haben { $email } erhalten.

## Thanks

thanks-title = Vielen Dank
thanks-kept = Sie sind für den Newsletter angemeldet.
thanks-passed-on = Wir haben Ihre Adresse an unseren Newsletter-Dienst übergeben. Wenn Sie eine E-Mail mit der Bitte um Bestätigung erhalten, klicken Sie bitte auf den Link darin.
thanks-asked = Bitte sehen Sie in Ihr Postfach: Wir haben Ihnen eine E-Mail mit einem Link geschickt. Sobald Sie dort bestätigt haben, bekommen Sie den Newsletter.
thanks-back = Zurück zu { $site }
thanks-home = Zur Startseite

leave-title = Newsletter abbestellen
leave-lead = Möchten Sie keine E-Mails mehr von uns erhalten?
leave-submit = Newsletter abbestellen
left-title = Sie erhalten keine E-Mails mehr
left-lead = Ihre Adresse steht nicht mehr auf der Liste. Wenn Sie es sich anders überlegen, melden Sie sich jederzeit wieder an.

confirm-title = Anmeldung bestätigen
confirm-lead = Ein Druck auf den Knopf, und Sie bekommen den Newsletter.
confirm-submit = Bestätigen
confirm-refuse = Das war ich nicht
confirmed-title = Bestätigt
confirmed-lead = Sie bekommen den Newsletter ab jetzt und können ihn jederzeit wieder abbestellen.
refused-title = Entfernt
refused-lead = Wir haben die Adresse entfernt und senden 30 Tage lang keine E-Mails mehr an sie, auch wenn sie jemand erneut anmeldet. Wenn Sie den Newsletter doch möchten, bitten Sie uns, die Sperre aufzuheben, oder melden Sie sich danach wieder an.
unconfirmed-title = Dieser Link gilt nicht mehr
unconfirmed-lead = Die Adresse wurde über ihn entfernt, oder es ist zu viel Zeit vergangen. Wenn Sie den Newsletter möchten, melden Sie sich bitte noch einmal an.

## Rahmen jeder Seite

frame-skip = Zum Inhalt springen
frame-navigation = Hauptmenü
frame-help = Hilfe
frame-developers = Entwickler
frame-markdown = Diese Seite als Markdown
frame-languages = Sprache
frame-imprint = Impressum
frame-privacy = Datenschutz
frame-contents = Inhalt

## Startseite

home-promise = Neues erfahren Sie hier zuerst
home-lead = Hinterlassen Sie Ihre E-Mail-Adresse, und { $name } schreibt Ihnen, sobald es etwas Lesenswertes gibt. Ohne Konto und ohne Tracking.
home-newsletter-title = Newsletter
home-newsletter-kept = Ihre Adresse bleibt bei den Betreibern dieser Website und wird an niemanden weitergegeben.
home-newsletter-passed-on = Ihre Adresse geht sofort an unseren Newsletter-Anbieter und wird hier nicht gespeichert.
home-newsletter-told = Ihre Adresse bleibt bei den Betreibern dieser Website und geht nur an den Dienst, der ihren Newsletter verschickt.
home-stored = Was über Sie gespeichert wird
home-chat-title = Noch Fragen?
home-chat-model = Hier antwortet ein Sprachmodell, das sich irren kann. Ihre Nachrichten gehen an das Modell, das wir ausgewählt haben.
home-chat-search = Unser Assistent sucht die Antwort auf unserer Website. Ihre Nachrichten werden nicht gespeichert.
home-chat-unscripted = Für den Chat mit unserem Assistenten brauchen Sie JavaScript. Häufige Fragen beantwortet auch unsere [Hilfe](/help).
home-suggestion-site = Was ist das für eine Website?
home-suggestion-leave = Wie melde ich mich ab?
home-suggestion-stored = Was wird über mich gespeichert?
home-developers-title = Für Entwickler und Agenten
home-developers = All das gibt es auch als kostenlose JSON-API, ohne Konto: Schlüssel und Befehle stehen auf der [Seite für Entwickler]({ $developers }), jeden Aufruf erklärt die [Anleitung]({ $docs }) (auf Englisch), und [llms.txt]({ $llms }) nennt alles, was es zu lesen gibt.
home-more-pages = Weitere Seiten
home-erp = Das ERP ist ein eigenes System: <{ $url }>

## Fehlerseiten

error-not-found-title = Diese Seite gibt es nicht
error-not-found = Vielleicht ist die Adresse falsch geschrieben, oder die Seite ist umgezogen. Achten Sie auch auf Groß- und Kleinschreibung und auf einen Schrägstrich am Ende.
error-method-title = Das geht hier nicht
error-method = Was gesendet wurde, kann unter dieser Adresse nicht verarbeitet werden. Gehen Sie zurück und versuchen Sie es auf anderem Weg.
error-too-many-title = Bitte eine kurze Pause
error-too-many = Aus Ihrem Netzwerk kamen zu viele Anfragen auf einmal. Bitte versuchen Sie es in { $time } noch einmal.
error-broken-title = Bei uns ist etwas schiefgegangen
error-broken = Bitte versuchen Sie es gleich noch einmal. Hilft das nicht, nennen Sie den Betreibern dieser Website bitte diese Nummer: { $id }
error-other-title = Das hat nicht geklappt
error-other = Ihre Anfrage konnte nicht verarbeitet werden. Gehen Sie zurück und versuchen Sie es noch einmal.
error-home = Zur Startseite

## Was Formulare sagen

form-sending = Einen Moment …
form-wait = Zu viele Anfragen. Bitte versuchen Sie es { $when } noch einmal.
form-again = Sie können es jetzt noch einmal versuchen.
form-lost = Der Dienst ist nicht erreichbar. Sind Sie online?
form-failed = Das hat nicht geklappt. Bitte versuchen Sie es später noch einmal.

## Chat

chat-open = Fragen Sie uns
chat-close = Schließen
chat-you = Sie
chat-assistant = Assistent
chat-label = Ihre Frage
chat-send = Senden
chat-stop = Abbrechen
chat-restart = Neu beginnen
chat-check = Bitte stellen Sie eine Frage mit höchstens { $max } Zeichen.
chat-broken = Die Antwort wurde unterbrochen. Bitte fragen Sie noch einmal.
chat-left = Noch { $n } von { $max } Nachrichten
chat-used-up = Sie haben alle Nachrichten verbraucht. Weiter geht es { $when }.

## Was das Skript der Seiten sagt

script-copy = Kopieren
script-copied = Kopiert
script-select = Markiert: bitte mit der Tastatur kopieren

## Die Seite mit den Bausteinen

embed-title = Auf Ihrer Website einbinden
embed-lead = Kopieren Sie einen Baustein in Ihre Seite: in einen HTML-Block von WordPress, in ein Embed von Webflow oder direkt in den Quelltext. Beide Elemente gibt es auf Deutsch, Englisch, Französisch und Spanisch; sie lassen sich an Ihre Farben anpassen und laden nur ein kleines Skript.
embed-preview = Vorschau
embed-newsletter = Das Newsletter-Formular
embed-newsletter-about = Das Formular im Inneren des Elements sehen nur Besucher ohne JavaScript.
embed-plain = Das Newsletter-Formular ohne Skript
embed-plain-about = Ein einfaches Formular funktioniert auf jeder Seite und führt zu einer Dankesseite. Das Feld `website` sehen Menschen nicht: Wer es ausfüllt, ist ein Programm.
embed-chat = Der Chat in der Seite
embed-chat-about = Besucher wählen einen Vorschlag oder stellen eine eigene Frage. Die Unterhaltung bleibt in ihrem Tab, bis sie ihn schließen.
embed-suggestions = Wie bekomme ich einen API-Schlüssel?|Was wird über mich gespeichert?
embed-button = Der Chat hinter einem Knopf
embed-button-about = Der Knopf bleibt in der Ecke des Fensters und öffnet den Chat; Escape schließt ihn. Ist die Herkunft Ihrer Seite [nicht erlaubt]({ $origins }), erscheint er nicht.
embed-button-preview = Der Knopf steht in der Ecke dieses Fensters.
embed-attributes = Attribute
embed-name = Name
embed-meaning = Wirkung
embed-of-heading = Überschrift und Satz über dem Formular.
embed-of-label = Beschriftung des Feldes, Platzhalter, Aufschrift des Knopfes.
embed-of-thanks = Der Dank nach einer Anmeldung.
embed-of-suggestions = Fragen zum Anklicken, durch `\|` getrennt.
embed-of-mode = Verbirgt den Chat hinter einem Knopf.
embed-of-privacy = Die Adresse Ihrer Datenschutzerklärung; der Link dorthin steht unter dem Formular.
embed-of-lang = Die Sprache: `en`, `de`, `fr` oder `es`. Ohne Angabe gilt die Sprache der Seite, sonst die des Browsers.
embed-of-theme = `light`, `dark` oder `auto` für das, was das System des Besuchers bevorzugt. Ohne Angabe entscheidet `color-scheme` der Seite.
embed-of-src = Die Adresse des Dienstes, falls das Skript nicht von dort kommt: { $url }
embed-look = Farben und Schrift
embed-look-about = Aus Ihrem Stylesheet übernehmen die Elemente nur die Schrift und diese Eigenschaften. Platz und Breite bestimmt Ihre Seite wie bei jedem anderen Element.
embed-of-accent = Knöpfe und Links; Schrift auf Knöpfen.
embed-of-text = Text, gedämpfter Text, Fehlermeldungen.
embed-of-background = Hintergrund, Linien, Ränder der Felder.
embed-of-box = Rahmen, Innenabstand, runde Ecken.
embed-of-font = Schriftart und Schriftgröße.
embed-of-room = Maximale Höhe einer Unterhaltung; Abstand des Knopfes von der Ecke.
embed-origins = Seiten anderer Herkunft
embed-origins-about = Das Newsletter-Formular funktioniert auf jeder Seite. Damit der Chat antwortet und das Formular ohne Seitenwechsel dankt, startet der Betreiber von { $url } den Dienst mit `--allow-origin https://www.example.com`, der Herkunft Ihrer Seite. Fehlt sie, zeigt der Chat nur, was in seinem Element steht, der Knopf erscheint nicht, und die Konsole des Browsers nennt den Grund. Die verbleibenden Nachrichten zählt ein Cookie des Dienstes, das Browser nur behalten, wenn beide zur selben registrierten Domain gehören.
embed-origins-allowed = Zurzeit erlaubt: { $origins }
embed-origins-none = Zurzeit ist keine andere Herkunft erlaubt.
embed-policy = Sendet Ihre Seite eine Content-Security-Policy, muss sie diese Quellen erlauben. Für Stile ist keine nötig.

## What the assistant says around a passage

assistant-unanswered = Dazu habe ich auf unserer Website nichts gefunden.
assistant-question = Was möchten Sie wissen?
assistant-thanks = Gern geschehen!
assistant-praise = Das freut mich!
assistant-greeting = Guten Tag! Was möchten Sie wissen?
assistant-assent = Gut. Fragen Sie einfach, wenn noch etwas offen ist.
assistant-topics = Vielleicht hilft Ihnen etwas davon weiter:
assistant-all = Mehr auf unserer Website:
assistant-contact = Oder fragen Sie uns direkt:
assistant-more = Mehr dazu:
assistant-away = Das Sprachmodell unseres Assistenten ist gerade nicht erreichbar. Diese Antwort stammt aus der Suche auf unserer Website und wird nicht mitgezählt.
