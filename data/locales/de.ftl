# Die Texte der Seiten auf Deutsch.

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
newsletter-lead = Tragen Sie Ihre E-Mail-Adresse ein, um unseren Newsletter zu abonnieren.
newsletter-email = E-Mail-Adresse
newsletter-submit = Anmelden
newsletter-trap = Bitte leer lassen
newsletter-address-missing = Bitte geben Sie Ihre E-Mail-Adresse ein.
newsletter-address-wrong = Bitte prüfen Sie die Adresse. Ein Beispiel: name@example.com.
newsletter-unreadable = Bei der Übertragung ist etwas schiefgegangen: Das Feld „{ $field }“ war nicht lesbar. Bitte geben Sie Ihre Adresse noch einmal ein.
newsletter-wait = Es gab gerade zu viele Anmeldeversuche. Bitte versuchen Sie es in { $wait } noch einmal.
newsletter-unavailable = Wir können Ihre Anmeldung gerade nicht entgegennehmen. Bitte versuchen Sie es in ein paar Minuten noch einmal.
newsletter-thanks = Vielen Dank. Wir haben { $email } erhalten.
newsletter-asked = Bitte schauen Sie in Ihr Postfach: Klicken Sie auf den Link in unserer E-Mail an { $email }.

## Thanks

thanks-title = Vielen Dank
thanks-asked-title = Bitte schauen Sie in Ihr Postfach
thanks-kept = Sie sind für den Newsletter angemeldet.
thanks-passed-on = Wir haben Ihre Adresse an unseren Newsletter-Dienst weitergegeben. Wenn Sie eine E-Mail mit der Bitte um Bestätigung erhalten, klicken Sie bitte auf den Link darin.
thanks-asked = Klicken Sie auf den Link in der E-Mail, die wir Ihnen gerade geschickt haben, um Ihre Anmeldung zu bestätigen. Nichts angekommen? Schauen Sie im Spamordner nach. Wenn Sie den Newsletter schon beziehen, müssen Sie nichts weiter tun.
thanks-back = Zurück zu { $site }
thanks-home = Zur Startseite

leave-title = Newsletter abbestellen
leave-lead = Möchten Sie den Newsletter von { $name } abbestellen?
leave-submit = Abbestellen
left-title = Sie sind abgemeldet
left-lead = Sie erhalten den Newsletter von { $name } nicht mehr. Wenn Sie es sich anders überlegen, können Sie sich jederzeit wieder anmelden.
left-again-title = Sie sind bereits abgemeldet
left-again-lead = Sie hatten den Newsletter von { $name } bereits abbestellt; es hat sich nichts geändert. Wenn Sie es sich anders überlegen, können Sie sich jederzeit wieder anmelden.
left-unknown-title = Dieser Link ist abgelaufen
left-unknown-lead = Er gehört zu keiner Anmeldung mehr. Falls Sie den Newsletter von { $name } noch erhalten, verwenden Sie bitte den Link in der neuesten E-Mail.

confirm-title = Anmeldung bestätigen
confirm-lead = Bitte bestätigen Sie, dass Sie den Newsletter von { $name } erhalten möchten.
confirm-submit = Anmeldung bestätigen
confirm-refuse = Das war ich nicht
confirm-mail-link = Falls die Schaltfläche nicht funktioniert, öffnen Sie bitte diesen Link:
confirm-mail-reason = Sie erhalten diese E-Mail, weil diese Adresse auf { $site } für den Newsletter angemeldet wurde.
confirmed-title = Sie sind angemeldet
confirmed-lead = Vielen Dank für die Bestätigung. Ab jetzt erhalten Sie den Newsletter von { $name }. Sie können ihn jederzeit abbestellen.
confirmed-again-title = Sie sind bereits angemeldet
confirmed-again-lead = Sie erhalten den Newsletter von { $name } bereits; es hat sich nichts geändert. Sie können ihn jederzeit abbestellen.
refused-title = Adresse entfernt
refused-lead = Wir haben diese Adresse entfernt und schreiben ihr 30 Tage lang nicht, auch wenn sie jemand erneut für den Newsletter von { $name } anmeldet. Sie möchten ihn doch? Bitten Sie uns, die Sperre aufzuheben, oder melden Sie sich danach wieder an.
unconfirmed-title = Dieser Link ist abgelaufen
unconfirmed-lead = Es ist zu viel Zeit vergangen, oder die Adresse wurde entfernt. Wenn Sie den Newsletter von { $name } möchten, melden Sie sich bitte noch einmal an. Falls Sie die Adresse in den letzten 30 Tagen selbst entfernt haben, wenden Sie sich bitte zuerst an uns.

## Rahmen jeder Seite

frame-skip = Zum Inhalt springen
frame-navigation = Hauptmenü
frame-help = Hilfe
frame-developers = Entwickler
frame-guide = Leitfaden
frame-reference = API-Referenz
frame-embed = Einbetten
frame-markdown = Diese Seite als Markdown
frame-languages = Sprache
frame-imprint = Impressum
frame-privacy = Datenschutz
frame-contents = Inhalt

## Startseite

home-promise = Neues erfahren Sie hier zuerst
home-lead = Melden Sie sich an, und { $name } schreibt Ihnen, sobald es etwas Lesenswertes gibt. Ohne Konto und ohne Tracking.
home-newsletter-title = Newsletter
home-newsletter-kept = Ihre Adresse wird bei den Betreibern dieser Website gespeichert und an niemanden weitergegeben.
home-newsletter-passed-on = Ihre Adresse geht direkt an unseren Newsletter-Dienst und wird hier nicht gespeichert.
home-newsletter-told = Ihre Adresse wird bei den Betreibern dieser Website gespeichert und nur an die Dienste weitergegeben, die unsere E-Mails verschicken.
home-newsletter-ip = Als Nachweis Ihrer Anmeldung wird auch Ihre IP-Adresse gespeichert.
home-stored = Welche Daten wir speichern
home-chat-title = Noch Fragen?
home-chat-model = Hier antwortet ein Sprachmodell, das sich irren kann. Ihre Nachrichten gehen an das Modell, das wir ausgewählt haben.
home-chat-search = Unser Assistent sucht die Antwort auf unserer Website. Ihre Nachrichten werden nicht gespeichert.
home-chat-questions = Unser Assistent sucht die Antwort auf unserer Website. Fragen, auf die er keine findet, werden gespeichert und nach { duration-days } gelöscht; wer sie gestellt hat, wird nicht gespeichert.
home-chat-unscripted = Für den Chat mit unserem Assistenten brauchen Sie JavaScript. Häufige Fragen beantwortet auch unsere [Hilfe](/help).
home-suggestion-site = Was ist das für eine Website?
home-suggestion-leave = Wie melde ich mich ab?
home-suggestion-stored = Was wird über mich gespeichert?
home-developers-title = Für Entwickler und Agenten
home-developers = Alles hier lässt sich auch über eine kostenlose JSON-API ohne Konto nutzen: Schlüssel und Beispielbefehle finden Sie auf der [Seite für Entwickler]({ $developers }), alle Aufrufe in der [Anleitung]({ $docs }) (auf Englisch) und ein Verzeichnis aller Dokumente in [llms.txt]({ $llms }).
home-more-pages = Weitere Seiten
home-erp = Das ERP ist ein eigenes System: <{ $url }>

## Was gespeichert, weitergegeben und gezählt wird: wann jeder dieser Sätze wahr ist, steht in data/statements.txt

privacy-nothing = Unser Newsletter-Formular speichert bei der Anmeldung nichts über Sie: Ihre E-Mail-Adresse geht direkt an den Dienst, der den Newsletter verschickt, und an niemanden sonst.
privacy-contact = Bei der Anmeldung speichert unser Newsletter-Formular Ihre E-Mail-Adresse, den Zeitpunkt und die Sprache der Anmeldung, die Seite und den Text des Formulars sowie Prüfwerte der letzten vier Netzwerke oder Programme, über die die Adresse angemeldet wurde.
privacy-confirmation = Außerdem speichert es, wann die Bestätigungsmail verschickt wurde und wann Sie bestätigt haben.
privacy-ip = Ihre IP-Adresse wird als Nachweis Ihrer Einwilligung mitgespeichert; für alles andere wird aus ihr nur ein Prüfwert gebildet, der hilft, Missbrauch zu begrenzen.
privacy-no-ip = Ihre IP-Adresse wird nicht gespeichert; aus ihr wird nur ein Prüfwert gebildet, der hilft, Missbrauch zu begrenzen.
privacy-unshared = Nichts davon wird an andere weitergegeben.
privacy-shared = Weitergegeben werden Ihre Adresse und der Stand Ihrer Anmeldung, und zwar nur an die Dienste, die unsere E-Mails verschicken.
privacy-chat = Was Sie im Chat schreiben, wird hier nicht gespeichert.
privacy-questions = Fragen, auf die der Chat keine Antwort findet, werden gespeichert und nach { duration-days } gelöscht, damit die Betreiber diese Website verbessern können. Wer gefragt hat, wird nicht gespeichert; E-Mail-Adressen und lange Nummern werden vorher unkenntlich gemacht. Alles andere, was Sie im Chat schreiben, wird nicht gespeichert.
privacy-erased-elsewhere = Bitten Sie die Betreiber dieser Website, Ihre Daten zu löschen: Ihre Adresse liegt nicht hier, sondern bei dem Dienst, der den Newsletter verschickt, und dort können sie sie entfernen lassen.
privacy-erased = Bitten Sie die Betreiber dieser Website, Ihre Daten zu löschen; dann entfernen sie Ihre E-Mail-Adresse mit allem, was dazu gespeichert ist. Nur ein Prüfwert, aus dem niemand die Adresse ablesen kann, bleibt zurück, damit sie nicht mit einer alten Liste wiederkommt.
privacy-erased-chat = Was Sie im Chat geschrieben haben, muss nicht gelöscht werden, denn es wird hier nicht gespeichert.
privacy-erased-questions = Fragen, auf die der Chat keine Antwort fand, sind ohne Hinweis darauf gespeichert, wer sie gestellt hat, und werden nach { duration-days } automatisch gelöscht; sonst ist nichts gespeichert, was Sie im Chat geschrieben haben.
privacy-erased-cookie = Das Cookie des Chats können Sie in Ihrem Browser löschen.
privacy-no-tracking = Es gibt kein Tracking, keine Werbung und keinen Statistikdienst.
privacy-cookie = Das einzige Cookie ist das des Chats: Es enthält eine Zufallszahl, wird bei Ihrer ersten Nachricht gesetzt und zählt nur Ihre Nachrichten. Wenn Sie den Chat nie benutzen, bekommen Sie gar kein Cookie.
privacy-no-cookie = Cookies werden nicht gesetzt, auch nicht vom Chat.
privacy-chat-model = Was Sie schreiben, wird hier nicht gespeichert, aber an das Sprachmodell geschickt, das die Betreiber ausgewählt haben. Ihre IP-Adresse und Ihre Cookies werden nicht mitgeschickt; wo dieses Modell läuft und was dort gespeichert wird, sagen Ihnen die Betreiber.
privacy-chat-here = Was Sie im Chat schreiben, wird hier beantwortet, geht an niemanden sonst und wird nicht gespeichert.
privacy-chat-answered = Was Sie im Chat schreiben, wird hier beantwortet und geht an niemanden sonst.
privacy-purpose = Ihre Adresse dient nur dem Newsletter.
privacy-unlisted = Niemand kann hier nachsehen, ob sie auf der Liste steht.
privacy-listed = Wer sie über die API anmeldet, erfährt, ob sie schon auf der Liste stand.
privacy-safe-elsewhere = Sie geht an den Dienst, der den Newsletter verschickt, und zwar verschlüsselt, wenn dieser Dienst das anbietet.
privacy-safe-here = Sie ist bei den Betreibern dieser Website gespeichert.
privacy-logs = Die Protokolle enthalten keine E-Mail-Adressen, IP-Adressen, Schlüssel oder Cookies.
privacy-unshown = Auf keiner Seite werden Adressen angezeigt.

## Fehlerseiten

error-not-found-title = Diese Seite gibt es nicht
error-not-found = Vielleicht enthält die Adresse einen Tippfehler, oder die Seite wurde verschoben. Achten Sie auch auf Groß- und Kleinschreibung und auf einen Schrägstrich am Ende.
error-method-title = Das geht hier nicht
error-method = Diese Anfrage kann hier nicht verarbeitet werden. Bitte gehen Sie zurück und versuchen Sie es auf anderem Weg.
error-too-many-title = Zu viele Anfragen
error-too-many = Wir haben zu viele Anfragen aus Ihrem Netzwerk erhalten. Bitte versuchen Sie es in { $time } noch einmal.
error-broken-title = Bei uns ist etwas schiefgegangen
error-broken = Bitte versuchen Sie es gleich noch einmal. Wenn das Problem bestehen bleibt, nennen Sie uns bitte diese Nummer: { $id }
error-other-title = Das hat nicht geklappt
error-other = Ihre Anfrage konnte nicht verarbeitet werden. Bitte gehen Sie zurück und versuchen Sie es noch einmal.
error-home = Zur Startseite

## Formulare

form-sending = Einen Moment …
form-wait = Zu viele Anfragen. Bitte versuchen Sie es { $when } noch einmal.
form-again = Sie können es jetzt noch einmal versuchen.
form-lost = Der Dienst ist nicht erreichbar. Bitte prüfen Sie Ihre Internetverbindung.
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

## Das Skript der Seiten

script-copy = Kopieren
script-copied = Kopiert
script-select = Markiert: bitte mit der Tastatur kopieren

## Die Seite mit den Bausteinen

embed-title = Auf Ihrer Website einbinden
embed-lead = Fügen Sie einen Baustein in Ihre Seite ein: in einen HTML-Block von WordPress, in ein Embed-Element von Webflow oder direkt in den Quelltext. Beide Elemente gibt es auf Deutsch, Englisch, Französisch und Spanisch; sie lassen sich an Ihre Farben anpassen und laden nur ein kleines Skript.
embed-preview = Vorschau
embed-newsletter = Das Newsletter-Formular
embed-newsletter-about = Das Formular im Element sehen nur Besucher ohne JavaScript.
embed-plain = Das Newsletter-Formular ohne Skript
embed-plain-about = Ein einfaches Formular funktioniert auf jeder Seite und führt zu einer Dankesseite. Das Feld `website` ist für Menschen unsichtbar; nur Bots füllen es aus.
embed-chat = Der Chat in der Seite
embed-chat-about = Besucher wählen einen Vorschlag oder stellen eine eigene Frage. Die Unterhaltung bleibt in ihrem Tab, bis sie ihn schließen.
embed-suggestions = Wie bekomme ich einen API-Schlüssel?|Was wird über mich gespeichert?
embed-button = Der Chat hinter einem Button
embed-button-about = Der Button bleibt in der Ecke des Fensters und öffnet den Chat; Escape schließt ihn. Ist der Origin Ihrer Seite [nicht erlaubt]({ $origins }), erscheint der Button nicht.
embed-button-preview = Der Button befindet sich in der Ecke dieses Fensters.
embed-attributes = Attribute
embed-name = Name
embed-meaning = Bedeutung
embed-of-heading = Überschrift und Einleitung über dem Formular.
embed-of-label = Beschriftung und Platzhalter des Feldes, Text des Buttons.
embed-of-thanks = Meldung nach der Anmeldung.
embed-of-asked = Meldung nach einer Anmeldung, die per E-Mail bestätigt werden muss.
embed-of-suggestions = Vorgeschlagene Fragen, getrennt durch `\|`.
embed-of-mode = Öffnet den Chat über einen Button.
embed-of-privacy = URL Ihrer Datenschutzerklärung, unter dem Formular verlinkt.
embed-of-lang = Sprache: `en`, `de`, `fr` oder `es`. Ohne Angabe gilt die Sprache der Seite, sonst die des Browsers.
embed-of-theme = `light`, `dark` oder `auto` (wie das System des Besuchers). Ohne Angabe gilt das `color-scheme` der Seite.
embed-of-src = URL des Dienstes, falls das Skript nicht von dort geladen wird: { $url }
embed-look = Farben und Schrift
embed-look-about = Aus Ihrem Stylesheet übernehmen die Elemente nur die Schrift und diese Eigenschaften. Position und Breite bestimmt Ihre Seite wie bei jedem anderen Element.
embed-of-accent = Buttons und Links; Text auf Buttons.
embed-of-text = Text, abgeschwächter Text, Fehlermeldungen.
embed-of-background = Hintergrund, Linien, Rahmen der Felder.
embed-of-box = Rahmen, Innenabstand, runde Ecken.
embed-of-font = Schriftart und Schriftgröße.
embed-of-room = Maximale Höhe der Unterhaltung; Abstand des Buttons von der Ecke.
embed-origins = Seiten mit anderem Origin
embed-origins-about = Das Newsletter-Formular funktioniert auf jeder Seite. Damit der Chat funktioniert und das Formular sich bedankt, ohne die Seite zu verlassen, muss der Betreiber von { $url } den Dienst mit `--allow-origin https://www.example.com` starten, dem Origin Ihrer Seite. Sonst zeigt der Chat nur den Inhalt seines Elements, der Button erscheint nicht, und die Konsole des Browsers nennt den Grund. Die verbleibenden Nachrichten werden mit einem Cookie gezählt, das Browser nur behalten, wenn beide Websites zur selben registrierten Domain gehören.
embed-origins-allowed = Zurzeit erlaubt: { $origins }
embed-origins-none = Zurzeit ist kein anderer Origin erlaubt.
embed-policy = Wenn Ihre Seite eine Content-Security-Policy sendet, muss sie diese Quellen erlauben. Für Styles ist keine nötig.

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
