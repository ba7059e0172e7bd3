# Les textes des pages en français.

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
newsletter-lead = Saisissez votre adresse e-mail pour vous inscrire à notre newsletter.
newsletter-email = Adresse e-mail
newsletter-submit = S’inscrire
newsletter-trap = Laissez ce champ vide
newsletter-address-missing = Veuillez saisir votre adresse e-mail.
newsletter-address-wrong = Veuillez vérifier l’adresse. Exemple : nom@example.com.
newsletter-unreadable = Un problème est survenu lors de l’envoi : le champ « { $field } » est illisible. Veuillez saisir de nouveau votre adresse.
newsletter-wait = Trop de tentatives d’inscription. Veuillez réessayer dans { $wait }.
newsletter-unavailable = Nous ne pouvons pas enregistrer votre inscription pour le moment. Veuillez réessayer dans quelques minutes.
newsletter-thanks = Merci. Nous avons bien reçu { $email }.
newsletter-asked = Consultez votre boîte de réception : cliquez sur le lien envoyé à { $email }.

## Thanks

thanks-title = Merci
thanks-asked-title = Consultez votre boîte de réception
thanks-kept = Votre inscription à notre newsletter est enregistrée.
thanks-passed-on = Nous avons transmis votre adresse à notre prestataire de newsletter. Si vous recevez un e-mail de confirmation, veuillez cliquer sur le lien qu’il contient.
thanks-asked = Pour confirmer votre inscription, cliquez sur le lien dans l’e-mail que nous venons de vous envoyer. Vous ne le trouvez pas ? Regardez dans le courrier indésirable. Si vous recevez déjà la newsletter, vous n’avez rien à faire.
thanks-back = Retour à { $site }
thanks-home = Retour à la page d’accueil

leave-title = Se désinscrire
leave-lead = Voulez-vous vous désinscrire de la newsletter de { $name } ?
leave-submit = Me désinscrire
left-title = Désinscription effectuée
left-lead = Vous ne recevrez plus la newsletter de { $name }. Si vous changez d’avis, vous pouvez vous réinscrire à tout moment.
left-again-title = Désinscription déjà effectuée
left-again-lead = Vous n’étiez déjà plus sur la liste de la newsletter de { $name } ; rien n’a changé. Si vous changez d’avis, vous pouvez vous réinscrire à tout moment.
left-unknown-title = Ce lien a expiré
left-unknown-lead = Il ne correspond plus à aucune inscription. Si vous recevez encore la newsletter de { $name }, utilisez le lien du dernier e-mail reçu.

confirm-title = Confirmer votre inscription
confirm-lead = Cliquez sur le bouton pour recevoir la newsletter de { $name }.
confirm-submit = Confirmer l’inscription
confirm-refuse = Ce n’était pas moi
confirm-mail-link = Si le bouton ne fonctionne pas, ouvrez ce lien :
confirm-mail-reason = Vous recevez cet e-mail parce que cette adresse a été inscrite à la newsletter sur { $site }.
confirmed-title = Inscription confirmée
confirmed-lead = Merci ! Vous recevrez désormais la newsletter de { $name } et pourrez vous désinscrire à tout moment.
confirmed-again-title = Inscription déjà confirmée
confirmed-again-lead = Vous recevez déjà la newsletter de { $name } ; rien n’a changé. Vous pouvez vous désinscrire à tout moment.
refused-title = Adresse supprimée
refused-lead = Nous avons supprimé cette adresse et ne lui écrirons pas pendant 30 jours, même si quelqu’un l’inscrit de nouveau à la newsletter de { $name }. Vous changez d’avis ? Demandez-nous de lever ce blocage, ou réinscrivez-vous passé ce délai.
unconfirmed-title = Ce lien a expiré
unconfirmed-lead = Le délai est écoulé, ou l’adresse a été supprimée. Si vous souhaitez recevoir la newsletter de { $name }, inscrivez-vous de nouveau. Si vous avez vous-même supprimé l’adresse au cours des 30 derniers jours, contactez-nous d’abord.

## Cadre de chaque page

frame-skip = Aller au contenu
frame-navigation = Menu principal
frame-help = Aide
frame-developers = Développeurs
frame-guide = Guide
frame-reference = Référence de l’API
frame-embed = Intégrer
frame-markdown = Cette page en Markdown
frame-languages = Langue
frame-imprint = Mentions légales
frame-privacy = Confidentialité
frame-contents = Sommaire

## Page d’accueil

home-promise = Soyez les premiers informés de nos nouveautés
home-lead = Inscrivez-vous, et { $name } vous écrira dès qu’il y aura quelque chose d’intéressant à lire. Sans compte ni suivi.
home-newsletter-title = Newsletter
home-newsletter-kept = Votre adresse est conservée par les personnes qui gèrent ce site et n’est communiquée à personne.
home-newsletter-passed-on = Votre adresse est transmise directement à notre prestataire de newsletter et n’est pas conservée ici.
home-newsletter-told = Votre adresse est conservée par les personnes qui gèrent ce site et communiquée uniquement aux services qui envoient nos e-mails.
home-newsletter-ip = Votre adresse IP est également conservée comme preuve de votre inscription.
home-stored = Les données que nous conservons
home-chat-title = Une question ?
home-chat-model = Les réponses viennent d’un modèle de langage, qui peut se tromper. Vos messages sont envoyés au modèle que nous avons choisi.
home-chat-search = Notre assistant cherche la réponse sur notre site. Vos messages ne sont pas conservés.
home-chat-questions = Notre assistant cherche la réponse sur notre site. Les questions restées sans réponse sont conservées, puis supprimées au bout de { duration-days } ; leur auteur n’est pas enregistré.
home-chat-unscripted = Activez JavaScript pour interroger notre assistant. Notre page d’[aide](/help) répond aussi aux questions courantes.
home-suggestion-site = Qu’est-ce que ce site ?
home-suggestion-leave = Comment me désinscrire ?
home-suggestion-stored = Quelles données sont conservées sur moi ?
home-developers-title = Pour les développeurs et les agents
home-developers = Tout est aussi accessible par une API JSON gratuite et sans compte : la [page des développeurs]({ $developers }) propose des clés et des exemples de commandes, le [guide]({ $docs }) explique chaque appel (en anglais), et [llms.txt]({ $llms }) donne la liste de tous les documents.
home-more-pages = Autres pages
home-erp = L’ERP est un système à part : <{ $url }>

## Ce qui est conservé, communiqué et compté : data/statements.txt indique quand chacune de ces phrases est vraie

privacy-nothing = Notre formulaire de newsletter ne conserve rien sur vous à l’inscription : votre adresse e-mail va directement au service qui envoie la newsletter, et à personne d’autre.
privacy-contact = À l’inscription, notre formulaire de newsletter conserve votre adresse e-mail, la date et la langue de l’inscription, la page et le texte du formulaire, ainsi que des empreintes des quatre derniers réseaux ou programmes ayant servi à inscrire l’adresse.
privacy-confirmation = Il conserve aussi la date d’envoi de l’e-mail de confirmation et celle de votre confirmation.
privacy-ip = Votre adresse IP est conservée avec ces données comme preuve de votre consentement ; pour le reste, on n’en tire qu’une empreinte qui aide à limiter les abus.
privacy-no-ip = Votre adresse IP n’est pas conservée ; on n’en tire qu’une empreinte qui aide à limiter les abus.
privacy-unshared = Rien de tout cela n’est communiqué à qui que ce soit.
privacy-shared = Votre adresse et l’état de votre inscription sont communiqués uniquement aux services qui envoient nos e-mails.
privacy-chat = Ce que vous écrivez dans le chat n’est pas conservé ici.
privacy-questions = Les questions auxquelles le chat ne trouve pas de réponse sont conservées, puis supprimées au bout de { duration-days }, pour permettre aux personnes qui gèrent ce site de l’améliorer. Leur auteur n’est pas enregistré, et les adresses e-mail et les longs numéros sont masqués au préalable. Rien d’autre de ce que vous écrivez dans le chat n’est conservé.
privacy-erased-elsewhere = Demandez aux personnes qui gèrent ce site de supprimer vos données : votre adresse n’est pas conservée ici, mais chez le service qui envoie la newsletter, et elles peuvent l’y faire retirer.
privacy-erased = Demandez aux personnes qui gèrent ce site de supprimer vos données ; elles effacent alors votre adresse e-mail et tout ce qui est conservé avec elle. Seule reste une empreinte dont personne ne peut déduire l’adresse, pour qu’une ancienne liste ne la réintroduise pas.
privacy-erased-chat = Ce que vous avez écrit dans le chat n’a pas à être supprimé, car rien n’en est conservé ici.
privacy-erased-questions = Les questions auxquelles le chat n’a pas trouvé de réponse sont conservées sans indication de leur auteur et supprimées automatiquement au bout de { duration-days } ; rien d’autre de ce que vous avez écrit dans le chat n’est conservé.
privacy-erased-cookie = Vous pouvez supprimer le cookie du chat dans votre navigateur.
privacy-no-tracking = Il n’y a ni suivi, ni publicité, ni service de statistiques.
privacy-cookie = Le seul cookie est celui du chat : il contient un nombre aléatoire, est déposé lors de votre premier message et ne sert qu’à compter vos messages. Si vous n’utilisez jamais le chat, vous ne recevez aucun cookie.
privacy-no-cookie = Aucun cookie n’est déposé, pas même par le chat.
privacy-chat-model = Ce que vous écrivez n’est pas conservé ici, mais envoyé au modèle de langage choisi par les personnes qui gèrent ce site. Votre adresse IP et vos cookies ne sont pas transmis ; demandez-leur où fonctionne ce modèle et ce qui y est conservé.
privacy-chat-here = Ce que vous écrivez dans le chat est traité ici, n’est transmis à personne d’autre et n’est pas conservé.
privacy-chat-answered = Ce que vous écrivez dans le chat est traité ici et n’est transmis à personne d’autre.
privacy-purpose = Votre adresse ne sert qu’à la newsletter.
privacy-unlisted = Personne ne peut vérifier ici si elle est sur la liste.
privacy-listed = Quiconque l’inscrit par l’API apprend si elle était déjà sur la liste.
privacy-safe-elsewhere = Elle va au service qui envoie la newsletter, par une connexion chiffrée si ce service en propose une.
privacy-safe-here = Elle est conservée par les personnes qui gèrent ce site.
privacy-logs = Les journaux ne contiennent ni adresse e-mail, ni adresse IP, ni clé, ni cookie.
privacy-unshown = Aucune page de ce site n’affiche d’adresses.

## Pages d’erreur

error-not-found-title = Cette page n’existe pas
error-not-found = L’adresse contient peut-être une erreur, ou la page a été déplacée. Vérifiez aussi les majuscules et la barre oblique finale.
error-method-title = Cela n’est pas possible ici
error-method = Cette page ne peut pas traiter votre demande. Revenez en arrière et essayez autrement.
error-too-many-title = Trop de requêtes
error-too-many = Nous avons reçu trop de requêtes depuis votre réseau. Veuillez réessayer dans { $time }.
error-broken-title = Un problème est survenu de notre côté
error-broken = Veuillez réessayer dans un instant. Si le problème persiste, contactez-nous en indiquant ce numéro : { $id }
error-other-title = Cela n’a pas fonctionné
error-other = Votre demande n’a pas pu être traitée. Revenez en arrière et réessayez.
error-home = Retour à la page d’accueil

## Formulaires

form-sending = Un instant…
form-wait = Trop de requêtes. Veuillez réessayer { $when }.
form-again = Vous pouvez réessayer maintenant.
form-lost = Le service est injoignable. Vérifiez votre connexion internet.
form-failed = Une erreur est survenue. Veuillez réessayer plus tard.

## Chat

chat-open = Posez-nous une question
chat-close = Fermer
chat-you = Vous
chat-assistant = Assistant
chat-label = Votre question
chat-send = Envoyer
chat-stop = Arrêter
chat-restart = Recommencer
chat-check = Veuillez saisir une question de { $max } caractères au maximum.
chat-broken = La réponse a été interrompue. Veuillez reposer votre question.
chat-left = Messages restants : { $n } sur { $max }
chat-used-up = Vous n’avez plus de messages. Vous pourrez continuer { $when }.

## Le script des pages

script-copy = Copier
script-copied = Copié
script-select = Texte sélectionné : copiez-le avec le clavier

## La page des extraits

embed-title = Intégrer à votre site
embed-lead = Collez un extrait dans votre page : dans un bloc HTML de WordPress, un élément Embed de Webflow ou directement dans le code source. Les deux éléments sont disponibles en français, en allemand, en anglais et en espagnol ; ils s’adaptent à vos couleurs et ne chargent qu’un petit script.
embed-preview = Aperçu
embed-newsletter = Le formulaire de la newsletter
embed-newsletter-about = Le formulaire à l’intérieur de l’élément est destiné aux visiteurs sans JavaScript.
embed-plain = Le formulaire de la newsletter sans script
embed-plain-about = Un formulaire simple fonctionne sur n’importe quelle page et mène à une page de remerciement. Le champ `website` est invisible pour les visiteurs ; seuls les robots le remplissent.
embed-chat = Le chat dans la page
embed-chat-about = Les visiteurs choisissent une suggestion ou posent leur propre question. La conversation reste dans leur onglet jusqu’à ce qu’ils le ferment.
embed-suggestions = Comment obtenir une clé d’API ?|Que conservez-vous à mon sujet ?
embed-button = Le chat derrière un bouton
embed-button-about = Le bouton reste dans le coin de la fenêtre et ouvre le chat ; Échap le ferme. Si l’origine de votre page n’est [pas autorisée]({ $origins }), le bouton n’apparaît pas.
embed-button-preview = Le bouton se trouve dans le coin de cette fenêtre.
embed-attributes = Attributs
embed-name = Nom
embed-meaning = Description
embed-of-heading = Titre et introduction au-dessus du formulaire.
embed-of-label = Libellé du champ, texte indicatif et texte du bouton.
embed-of-thanks = Message affiché après l’inscription.
embed-of-asked = Message affiché après une inscription à confirmer par e-mail.
embed-of-suggestions = Questions suggérées, séparées par `\|`.
embed-of-mode = Ouvre le chat depuis un bouton.
embed-of-privacy = URL de votre politique de confidentialité ; un lien s’affiche sous le formulaire.
embed-of-lang = Langue : `en`, `de`, `fr` ou `es`. Par défaut, celle de la page, puis celle du navigateur.
embed-of-theme = `light`, `dark`, ou `auto` pour suivre le système du visiteur. Par défaut, le `color-scheme` de la page.
embed-of-src = URL du service, si le script n’est pas chargé depuis celui-ci : { $url }
embed-look = Couleurs et typographie
embed-look-about = Les éléments ne reprennent de votre feuille de style que la police et ces propriétés. Leur position et leur largeur dépendent de votre page, comme pour tout autre élément.
embed-of-accent = Boutons et liens ; texte des boutons.
embed-of-text = Texte, texte atténué, messages d’erreur.
embed-of-background = Fond, lignes, bordures des champs.
embed-of-box = Bordure, marge intérieure, coins arrondis.
embed-of-font = Police et taille des caractères.
embed-of-room = Hauteur maximale d’une conversation ; distance entre le bouton et le coin.
embed-origins = Pages d’autres origines
embed-origins-about = Le formulaire de la newsletter fonctionne sur n’importe quelle page. Pour que le chat fonctionne, et que le remerciement s’affiche sans changer de page, l’exploitant de { $url } doit lancer le service avec `--allow-origin https://www.example.com`, l’origine de votre page. Sinon, le chat n’affiche que le contenu de son élément, le bouton n’apparaît pas et la console du navigateur en indique la raison. Les messages restants sont comptés à l’aide d’un cookie, que les navigateurs ne conservent que si les deux sites appartiennent au même domaine enregistré.
embed-origins-allowed = Autorisées actuellement : { $origins }
embed-origins-none = Aucune autre origine n’est autorisée actuellement.
embed-policy = Si votre page envoie une Content-Security-Policy, elle doit autoriser ces sources. Les styles n’en nécessitent aucune.

## What the assistant says around a passage

assistant-unanswered = Je n’ai rien trouvé à ce sujet sur notre site.
assistant-question = Que souhaitez-vous savoir ?
assistant-thanks = Avec plaisir !
assistant-praise = Ça fait plaisir !
assistant-greeting = Bonjour ! Que souhaitez-vous savoir ?
assistant-assent = Parfait. N’hésitez pas si vous avez une autre question.
assistant-topics = L’une de ces rubriques vous aidera peut-être :
assistant-all = À voir aussi sur notre site :
assistant-contact = Vous pouvez aussi nous contacter directement :
assistant-more = En savoir plus :
assistant-away = Le modèle de langage de notre assistant est momentanément indisponible. Cette réponse vient d’une recherche sur notre site et n’est pas décomptée.
