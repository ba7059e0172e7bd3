# Ce que disent les pages, en français.

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
newsletter-lead = Indiquez votre adresse e-mail et vous recevrez le prochain numéro.
newsletter-email = Adresse e-mail
newsletter-submit = S’inscrire
newsletter-trap = Laissez ce champ vide
newsletter-address-missing = Veuillez saisir votre adresse e-mail.
newsletter-address-wrong = Veuillez vérifier l’adresse. Exemple : nom@example.com.
newsletter-unreadable = Un problème est survenu lors de l’envoi : le champ « { $field } » est illisible. Veuillez saisir de nouveau votre adresse.
newsletter-wait = Il y a eu trop de tentatives d’inscription. Veuillez réessayer dans { $wait }.
newsletter-unavailable = Nous ne pouvons pas enregistrer votre inscription pour le moment. Veuillez réessayer dans quelques minutes.
newsletter-thanks = Merci. Nous avons bien reçu { $email }.

## Thanks

thanks-title = Merci
thanks-kept = Votre inscription à la newsletter est enregistrée.
thanks-passed-on = Votre adresse a été transmise à notre prestataire de newsletter. Si vous recevez un message de confirmation, veuillez cliquer sur le lien qu’il contient.
thanks-asked = Consultez votre messagerie : nous vous avons envoyé un e-mail avec un lien. Vous recevrez la newsletter dès que vous aurez confirmé.
thanks-back = Retour à { $site }
thanks-home = Retour à la page d’accueil

leave-title = Se désinscrire de la newsletter
leave-lead = Souhaitez-vous ne plus recevoir d’e-mails de notre part ?
leave-submit = Se désinscrire
left-title = Vous ne recevrez plus d’e-mails
left-lead = Votre adresse ne figure plus sur la liste. Si vous changez d’avis, vous pouvez vous réinscrire à tout moment.

confirm-title = Confirmer votre inscription
confirm-lead = Une pression sur le bouton, et vous recevrez la newsletter.
confirm-submit = Confirmer
confirm-refuse = Ce n’était pas moi
confirmed-title = Inscription confirmée
confirmed-lead = Vous recevrez désormais la newsletter et pourrez vous désinscrire à tout moment.
refused-title = Adresse supprimée
refused-lead = Nous avons supprimé l’adresse et ne lui écrirons plus pendant 30 jours, même si quelqu’un l’inscrit à nouveau. Si vous changez d’avis, demandez-nous de lever ce blocage ou inscrivez-vous après ce délai.
unconfirmed-title = Ce lien n’est plus valable
unconfirmed-lead = Il a servi à supprimer l’adresse, ou le délai est écoulé. Si vous souhaitez recevoir la newsletter, inscrivez-vous de nouveau.

## Cadre de chaque page

frame-skip = Aller au contenu
frame-navigation = Menu principal
frame-help = Aide
frame-developers = Développeurs
frame-markdown = Cette page en Markdown
frame-languages = Langue
frame-imprint = Mentions légales
frame-privacy = Confidentialité
frame-contents = Sommaire

## Page d’accueil

home-promise = Soyez les premiers informés de nos nouveautés
home-lead = Laissez votre adresse e-mail, et { $name } vous écrira dès qu’il y aura quelque chose d’intéressant à lire. Sans compte ni suivi.
home-newsletter-title = Newsletter
home-newsletter-kept = Votre adresse est conservée par les responsables de ce site et n’est transmise à personne.
home-newsletter-passed-on = Votre adresse est transmise aussitôt à notre prestataire de newsletter et n’est pas conservée ici.
home-newsletter-told = Votre adresse est conservée par les responsables de ce site et n’est transmise qu’au service qui envoie leur newsletter.
home-stored = Ce qui est conservé à votre sujet
home-chat-title = Une question ?
home-chat-model = Les réponses viennent d’un modèle de langage, qui peut se tromper. Vos messages sont envoyés au modèle que nous avons choisi.
home-chat-search = Notre assistant cherche la réponse sur notre site. Vos messages ne sont pas conservés.
home-chat-unscripted = Activez JavaScript pour interroger notre assistant. Notre page d’[aide](/help) répond aussi aux questions courantes.
home-suggestion-site = Qu’est-ce que ce site ?
home-suggestion-leave = Comment me désinscrire ?
home-suggestion-stored = Quelles données sont conservées sur moi ?
home-developers-title = Pour les développeurs et les agents
home-developers = Tout cela existe aussi sous forme d’API JSON, gratuite et sans compte : la [page des développeurs]({ $developers }) propose clés et commandes, le [guide]({ $docs }) explique chaque appel (en anglais), et [llms.txt]({ $llms }) énumère tout ce qu’il y a à lire.
home-more-pages = Autres pages
home-erp = L’ERP est un système à part : <{ $url }>

## Pages d’erreur

error-not-found-title = Cette page n’existe pas
error-not-found = L’adresse est peut-être mal écrite, ou la page a été déplacée. Vérifiez aussi les majuscules et la barre oblique finale.
error-method-title = Cela n’est pas possible ici
error-method = Cette adresse ne peut pas traiter ce qui a été envoyé. Revenez en arrière et essayez autrement.
error-too-many-title = Une petite pause, s’il vous plaît
error-too-many = Trop de requêtes sont arrivées en même temps de votre réseau. Veuillez réessayer dans { $time }.
error-broken-title = Un problème est survenu de notre côté
error-broken = Veuillez réessayer dans un instant. Si le problème persiste, communiquez ce numéro aux responsables de ce site : { $id }
error-other-title = Cela n’a pas fonctionné
error-other = Votre requête n’a pas pu être comprise. Revenez en arrière et réessayez.
error-home = Retour à la page d’accueil

## Ce que disent les formulaires

form-sending = Un instant…
form-wait = Trop de requêtes. Veuillez réessayer { $when }.
form-again = Vous pouvez réessayer maintenant.
form-lost = Le service est injoignable. Êtes-vous en ligne ?
form-failed = Cela n’a pas fonctionné. Veuillez réessayer plus tard.

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

## Ce que dit le script des pages

script-copy = Copier
script-copied = Copié
script-select = Sélectionné : copiez avec le clavier

## La page des extraits

embed-title = Intégrer à votre site
embed-lead = Copiez un extrait dans votre page : dans un bloc HTML de WordPress, un embed de Webflow ou directement dans le code source. Les deux éléments existent en français, en allemand, en anglais et en espagnol ; ils s’adaptent à vos couleurs et ne chargent qu’un petit script.
embed-preview = Aperçu
embed-newsletter = Le formulaire de la newsletter
embed-newsletter-about = Le formulaire à l’intérieur de l’élément est destiné aux visiteurs sans JavaScript.
embed-plain = Le formulaire de la newsletter sans script
embed-plain-about = Un formulaire simple fonctionne sur n’importe quelle page et mène à une page de remerciement. Les humains ne voient pas le champ `website` : ce qui le remplit est un programme.
embed-chat = Le chat dans la page
embed-chat-about = Les visiteurs choisissent une suggestion ou posent leur propre question. La conversation reste dans leur onglet jusqu’à ce qu’ils le ferment.
embed-suggestions = Comment obtenir une clé d’API ?|Que conservez-vous à mon sujet ?
embed-button = Le chat derrière un bouton
embed-button-about = Le bouton reste dans le coin de la fenêtre et ouvre le chat ; Échap le ferme. Si l’origine de votre page n’est [pas autorisée]({ $origins }), il n’apparaît pas.
embed-button-preview = Le bouton se trouve dans le coin de cette fenêtre.
embed-attributes = Attributs
embed-name = Nom
embed-meaning = Effet
embed-of-heading = Un titre et une phrase au-dessus du formulaire.
embed-of-label = Le libellé du champ, son texte indicatif et celui du bouton.
embed-of-thanks = Le remerciement après une inscription.
embed-of-suggestions = Des questions à cliquer, séparées par `\|`.
embed-of-mode = Place le chat derrière un bouton.
embed-of-privacy = L’adresse de votre politique de confidentialité ; un lien s’affiche sous le formulaire.
embed-of-lang = La langue : `en`, `de`, `fr` ou `es`. À défaut, celle de la page, puis celle du navigateur.
embed-of-theme = `light`, `dark`, ou `auto` pour ce que préfère le système du visiteur. À défaut, le `color-scheme` de la page décide.
embed-of-src = L’adresse du service, si le script ne vient pas de là : { $url }
embed-look = Couleurs et typographie
embed-look-about = Les éléments ne reprennent de votre feuille de style que la police et ces propriétés. Votre page fixe leur place et leur largeur, comme pour tout autre élément.
embed-of-accent = Boutons et liens ; texte des boutons.
embed-of-text = Texte, texte discret, messages d’erreur.
embed-of-background = Fond, lignes, bordures des champs.
embed-of-box = Bordure, marge intérieure, coins arrondis.
embed-of-font = Police et taille des caractères.
embed-of-room = Hauteur maximale d’une conversation ; distance entre le bouton et le coin.
embed-origins = Pages d’autres origines
embed-origins-about = Le formulaire de la newsletter fonctionne sur n’importe quelle page. Pour que le chat réponde, et que le formulaire remercie sans changer de page, l’exploitant de { $url } lance le service avec `--allow-origin https://www.example.com`, l’origine de votre page. Sinon, le chat n’affiche que le contenu de son élément, le bouton n’apparaît pas et la console du navigateur en indique la raison. Les messages restants sont comptés par un cookie du service, que les navigateurs ne gardent que si les deux appartiennent au même domaine enregistré.
embed-origins-allowed = Autorisées actuellement : { $origins }
embed-origins-none = Aucune autre origine n’est autorisée actuellement.
embed-policy = Si votre page envoie une Content-Security-Policy, elle doit autoriser ces sources. Aucune n’est nécessaire pour les styles.

## What the assistant says around a passage

assistant-unanswered = Je n’ai rien trouvé à ce sujet sur notre site.
assistant-question = Que souhaitez-vous savoir ?
assistant-thanks = Avec plaisir !
assistant-praise = Ça fait plaisir !
assistant-greeting = Bonjour ! Que souhaitez-vous savoir ?
assistant-assent = Parfait. N’hésitez pas si vous avez une autre question.
assistant-topics = L’une de ces pages vous aidera peut-être :
assistant-all = À voir aussi sur notre site :
assistant-contact = Vous pouvez aussi nous contacter directement :
assistant-more = En savoir plus :
assistant-away = Le modèle de langage de notre assistant est momentanément indisponible. Cette réponse vient d’une recherche sur notre site et n’est pas décomptée.
