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

## Thanks

thanks-title = Vielen Dank
thanks-kept = Ihre Adresse steht auf der Liste.
thanks-passed-on = Ihre Adresse ist bei unserem Newsletter-Dienst. Falls Sie eine Nachricht mit der Bitte um Bestätigung bekommen, folgen Sie bitte dem Link darin.
thanks-home = Zur Startseite

## Rahmen jeder Seite

frame-skip = Zum Inhalt springen
frame-navigation = Website
frame-home = Startseite
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
