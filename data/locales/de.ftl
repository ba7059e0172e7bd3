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
newsletter-lead = Tragen Sie Ihre Adresse ein, und die nächste Ausgabe kommt zu Ihnen.
newsletter-email = E-Mail-Adresse
newsletter-submit = Anmelden
newsletter-trap = Bitte leer lassen
newsletter-address-missing = Bitte geben Sie Ihre E-Mail-Adresse ein.
newsletter-address-wrong = Bitte prüfen Sie die Adresse. Sie sollte aussehen wie name@example.com.
newsletter-unreadable = Unterwegs ist etwas schiefgegangen. Bitte geben Sie Ihre Adresse noch einmal ein.
newsletter-again = Bitte senden Sie das Formular noch einmal ab.
newsletter-wait = Gerade gab es viele Anmeldungen. Bitte versuchen Sie es in { $wait } noch einmal.
newsletter-proof = Aus Ihrem Netz kamen schon mehrere Anmeldungen. Bitte senden Sie das Formular noch einmal ab: Ihr Browser rechnet dann einen Moment, das hält Roboter fern.
newsletter-proof-wait = Aus Ihrem Netz kamen schon mehrere Anmeldungen. Bitte versuchen Sie es in { $wait } noch einmal.
newsletter-unavailable = Wir können Ihre Adresse gerade nicht aufnehmen. Bitte versuchen Sie es in ein paar Minuten wieder.
newsletter-thanks = Vielen Dank. { $email } ist angekommen.

## Thanks

thanks-title = Vielen Dank
thanks-kept = Ihre Adresse steht auf der Liste.
thanks-passed-on = Ihre Adresse ist bei unserem Newsletter-Dienst. Falls Sie eine Nachricht mit der Bitte um Bestätigung bekommen, folgen Sie bitte dem Link darin.
thanks-home = Zur Startseite

## Rahmen jeder Seite

frame-skip = Zum Inhalt springen
frame-navigation = Website
frame-help = Hilfe
frame-developers = Entwickler
frame-markdown = Diese Seite als Markdown
frame-languages = Sprache
frame-imprint = Impressum
frame-privacy = Datenschutz
frame-contents = Inhalt

## Startseite

home-promise = Erfahren Sie zuerst, was es Neues gibt
home-lead = Hinterlassen Sie Ihre Adresse, und { $name } schreibt Ihnen, wenn es etwas Lesenswertes gibt. Ohne Konto und ohne Tracking.
home-newsletter-title = Newsletter
home-newsletter-kept = Ihre Adresse bleibt bei den Betreibern dieser Website und wird an niemanden weitergegeben.
home-newsletter-passed-on = Ihre Adresse geht sofort an den Anbieter des Newsletters und wird hier nicht gespeichert.
home-stored = Was über Sie gespeichert wird
home-chat-title = Fragen? Stellen Sie sie hier
home-chat-model = Ein Sprachmodell antwortet, und es kann sich irren. Was Sie schreiben, geht an das Modell, das die Betreiber dieser Website gewählt haben.
home-chat-search = Der Assistent findet die Stelle unserer Seiten, die zu Ihrer Frage passt. Was Sie schreiben, wird nicht gespeichert.
home-chat-unscripted = Wo Skripte laufen, können Sie hier den Assistenten fragen. Ohne sie beantwortet die [Hilfe](/help) die üblichen Fragen.
home-suggestion-site = Was ist das für eine Website?
home-suggestion-leave = Wie melde ich mich ab?
home-suggestion-stored = Was wird über mich gespeichert?
home-developers-title = Für Entwickler und Agenten
home-developers = All das ist eine freie JSON-API ohne Konten: Auf der [Seite für Entwickler]({ $developers }) gibt es Schlüssel und Befehle, der [Leitfaden]({ $docs }) erklärt jeden Aufruf (auf Englisch), und [llms.txt]({ $llms }) nennt alles, was es zu lesen gibt.
home-more-pages = Weitere Seiten
home-erp = Das ERP ist ein eigenes System: <{ $url }>

## Fehlerseiten

error-not-found-title = Diese Seite gibt es nicht
error-not-found = Vielleicht ist die Adresse falsch geschrieben, oder die Seite ist umgezogen. Groß- und Kleinschreibung und ein Schrägstrich am Ende zählen.
error-method-title = Das geht hier nicht
error-method = Diese Adresse nimmt nicht an, was gesendet wurde. Gehen Sie zurück und versuchen Sie es auf einem anderen Weg.
error-too-many-title = Bitte eine kurze Pause
error-too-many = Aus Ihrem Netz kamen viele Anfragen auf einmal. Versuchen Sie es in { $time } noch einmal.
error-broken-title = Bei uns ist etwas schiefgegangen
error-broken = Versuchen Sie es gleich noch einmal. Wenn es so bleibt, nennen Sie den Betreibern dieser Website diese Nummer: { $id }
error-other-title = Das hat nicht geklappt
error-other = Die Anfrage war nicht zu verstehen. Gehen Sie zurück und versuchen Sie es noch einmal.
error-home = Zur Startseite

## Was Formulare sagen

form-sending = Einen Moment …
form-wait = Versuchen Sie es { $when } noch einmal.
form-again = Sie können es jetzt noch einmal versuchen.
form-lost = Der Dienst ist nicht erreichbar. Bitte prüfen Sie Ihre Verbindung und versuchen Sie es noch einmal.
form-failed = Das hat nicht geklappt. Bitte versuchen Sie es später noch einmal.

## Chat

chat-open = Fragen Sie uns
chat-close = Schließen
chat-you = Sie
chat-assistant = Assistent
chat-label = Ihre Frage
chat-send = Senden
chat-stop = Anhalten
chat-restart = Neu beginnen
chat-check = Bitte schreiben Sie eine Frage mit höchstens { $max } Zeichen.
chat-broken = Die Antwort ist abgebrochen. Fragen Sie bitte noch einmal, wenn Sie sie noch brauchen.
chat-left = Noch { $n } von { $max } Nachrichten

## Was das Skript der Seiten sagt

script-copy = Kopieren
script-copied = Kopiert
script-select = Ausgewählt: mit der Tastatur kopieren

## Die Seite mit den Bausteinen

embed-title = Auf Ihrer Website einbauen
embed-lead = Kopieren Sie einen Baustein in Ihre Seite: in einen HTML-Block von WordPress, ein Embed von Webflow oder die Seite selbst. Beide Elemente gibt es auf Englisch, Deutsch, Französisch und Spanisch; sie übernehmen Ihre Farben und laden nur ein kleines Skript.
embed-preview = Vorschau
embed-newsletter = Das Newsletter-Formular
embed-newsletter-about = Was im Element steht, ist das Formular für Besucher ohne JavaScript.
embed-plain = Das Newsletter-Formular ohne Skript
embed-plain-about = Ein einfaches Formular funktioniert auf jeder Seite und führt zu einer Dankesseite. Das Feld `website` sehen Menschen nicht: Wer es ausfüllt, ist ein Programm.
embed-chat = Der Chat in der Seite
embed-chat-about = Besucher wählen einen Vorschlag oder schreiben eine Frage. Die Unterhaltung bleibt in ihrem Tab, bis sie ihn schließen.
embed-suggestions = Wie bekomme ich einen API-Schlüssel?|Was wird über mich gespeichert?
embed-button = Der Chat hinter einem Knopf
embed-button-about = Der Knopf bleibt in der Ecke des Fensters und öffnet ein Feld; Escape schließt es.
embed-button-preview = Der Knopf ist in der Ecke dieses Fensters.
embed-attributes = Attribute
embed-name = Name
embed-meaning = Wirkung
embed-of-heading = Überschrift und Satz über dem Formular.
embed-of-label = Die Wörter am Feld, darin und auf dem Knopf.
embed-of-thanks = Was nach einer Anmeldung gesagt wird.
embed-of-suggestions = Fragen zum Anklicken, mit `\|` dazwischen.
embed-of-mode = Der Chat steht hinter einem Knopf.
embed-of-privacy = Die Adresse Ihrer Datenschutzerklärung. Ein Link dorthin steht darunter.
embed-of-lang = Die Sprache: `en`, `de`, `fr` oder `es`. Ohne sie die der Seite, sonst die des Browsers.
embed-of-theme = `light`, `dark` oder `auto` für das, was das System des Besuchers bevorzugt. Ohne Angabe entscheidet `color-scheme` der Seite.
embed-of-src = Der Dienst, wenn es nicht der ist, von dem das Skript kommt: { $url }
embed-look = Farben und Schrift
embed-look-about = Die Elemente übernehmen aus Ihrem Stylesheet nur die Schrift und diese Eigenschaften. Wo ein Element steht und wie breit es ist, sagt Ihre Seite wie bei jedem anderen.
embed-of-accent = Knöpfe und Links, und die Schrift auf Knöpfen.
embed-of-text = Text, leiserer Text, Fehler.
embed-of-background = Hintergrund, Linien, Ränder der Felder.
embed-of-box = Der Rahmen, der Abstand darin, runde Ecken.
embed-of-font = Schrift und Größe.
embed-of-room = Wie hoch eine Unterhaltung wächst; wie weit der Knopf von der Ecke entfernt ist.
embed-origins = Seiten anderer Herkunft
embed-origins-about = Das Newsletter-Formular funktioniert auf jeder Seite. Für den Chat, und um ohne Seitenwechsel zu danken, startet der Betreiber von { $url } den Dienst mit `--allow-origin https://www.example.com`, der Herkunft Ihrer Seite. Die übrigen Nachrichten zählt ein Cookie des Dienstes, das Browser nur behalten, wenn beide dieselbe registrierte Domain haben.
embed-policy = Sendet Ihre Seite eine Content-Security-Policy, braucht sie diese Quellen. Für Stile braucht sie keine.

## What the assistant says around a passage

assistant-unanswered = Dazu steht auf diesen Seiten nichts.
assistant-question = Was möchten Sie wissen?
assistant-topics = Vielleicht hilft eines davon:
assistant-all = Alles Weitere:
assistant-more = Mehr:
assistant-no-pages = Es gibt noch keine Seiten.
assistant-away = Das Sprachmodell des Assistenten ist gerade nicht erreichbar. Dies stammt von den Seiten dieser Website und zählt nicht.
