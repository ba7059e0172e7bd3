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
newsletter-lead = Laissez votre adresse, et le prochain numéro arrivera chez vous.
newsletter-email = Adresse e-mail
newsletter-submit = S’inscrire
newsletter-trap = Laissez ce champ vide
newsletter-address-missing = Veuillez saisir votre adresse e-mail.
newsletter-address-wrong = Veuillez vérifier l’adresse. Elle devrait ressembler à nom@example.com.
newsletter-unreadable = Un problème est survenu en route. Veuillez saisir votre adresse encore une fois.
newsletter-again = Veuillez envoyer le formulaire encore une fois.
newsletter-wait = Il y a beaucoup d’inscriptions en ce moment. Veuillez réessayer dans { $wait }.
newsletter-proof = Plusieurs inscriptions sont venues de votre réseau. Veuillez envoyer le formulaire encore une fois : votre navigateur fera un bref calcul, ce qui tient les robots à distance.
newsletter-proof-wait = Plusieurs inscriptions sont venues de votre réseau. Veuillez réessayer dans { $wait }.
newsletter-unavailable = Nous ne pouvons pas enregistrer votre adresse pour le moment. Veuillez réessayer dans quelques minutes.
newsletter-thanks = Merci. { $email } est bien arrivé.

## Thanks

thanks-title = Merci
thanks-kept = Votre adresse est sur la liste.
thanks-passed-on = Votre adresse a été transmise à notre prestataire de newsletter. Si vous recevez un message de confirmation, veuillez suivre le lien qu’il contient.
thanks-home = Vers la page d’accueil

## Cadre de chaque page

frame-skip = Aller au contenu
frame-navigation = Site
frame-help = Aide
frame-developers = Développeurs
frame-markdown = Cette page en Markdown
frame-languages = Langue
frame-imprint = Mentions légales
frame-privacy = Confidentialité
frame-contents = Sommaire

## Page d’accueil

home-promise = Soyez les premiers informés de nos nouveautés
home-lead = Laissez votre adresse, et { $name } vous écrira quand il y aura quelque chose à lire. Sans compte ni suivi.
home-newsletter-title = Newsletter
home-newsletter-kept = Votre adresse reste chez les responsables de ce site et n’est transmise à personne.
home-newsletter-passed-on = Votre adresse est transmise aussitôt au prestataire de la newsletter et n’est pas conservée ici.
home-stored = Ce qui est conservé à votre sujet
home-chat-title = Des questions ? Posez-les ici
home-chat-model = Un modèle de langage répond, et il peut se tromper. Ce que vous écrivez est envoyé au modèle choisi par les responsables de ce site.
home-chat-search = L’assistant trouve dans nos pages le passage qui répond à votre question. Ce que vous écrivez n’est pas conservé.
home-chat-unscripted = Avec les scripts activés, vous pouvez interroger l’assistant ici. Sans eux, la page d’[aide](/help) répond aux questions courantes.
home-suggestion-site = Quel est ce site ?
home-suggestion-leave = Comment me désabonner ?
home-suggestion-stored = Quelles données gardez-vous sur moi ?
home-developers-title = Pour les développeurs et les agents
home-developers = Tout cela est une API JSON gratuite et sans compte : la [page des développeurs]({ $developers }) propose clés et commandes, le [guide]({ $docs }) explique chaque appel (en anglais), et [llms.txt]({ $llms }) énumère tout ce qu’il y a à lire.
home-more-pages = Autres pages
home-erp = L’ERP est un système à part : <{ $url }>

## Pages d’erreur

error-not-found-title = Cette page n’existe pas
error-not-found = L’adresse est peut-être mal écrite, ou la page a été déplacée. Les majuscules et la barre oblique finale comptent.
error-method-title = Cela n’est pas possible ici
error-method = Cette adresse n’accepte pas ce qui a été envoyé. Revenez en arrière et essayez autrement.
error-too-many-title = Une petite pause, s’il vous plaît
error-too-many = De nombreuses requêtes sont arrivées de votre réseau. Réessayez dans { $time }.
error-broken-title = Un problème est survenu de notre côté
error-broken = Réessayez dans un instant. Si le problème persiste, communiquez ce numéro aux responsables de ce site : { $id }
error-other-title = Cela n’a pas fonctionné
error-other = La requête n’a pas pu être comprise. Revenez en arrière et réessayez.
error-home = Vers l’accueil

## Ce que disent les formulaires

form-sending = Un instant…
form-wait = Réessayez { $when }.
form-again = Vous pouvez réessayer maintenant.
form-lost = Le service est injoignable. Vérifiez votre connexion, puis réessayez.
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
chat-check = Veuillez écrire une question de { $max } caractères au plus.
chat-broken = La réponse s’est interrompue. Reposez votre question si vous en avez encore besoin.
chat-left = Messages restants : { $n } sur { $max }

## Ce que dit le script des pages

script-copy = Copier
script-copied = Copié
script-select = Sélectionné : copiez avec le clavier

## La page des extraits

embed-title = Sur votre site
embed-lead = Copiez un extrait dans votre page : dans un bloc HTML de WordPress, un embed de Webflow ou la page elle-même. Les deux éléments existent en anglais, en allemand, en français et en espagnol ; ils suivent vos couleurs et ne chargent qu’un petit script.
embed-preview = Aperçu
embed-newsletter = Le formulaire de la newsletter
embed-newsletter-about = Ce qui se trouve dans l’élément est le formulaire des visiteurs sans JavaScript.
embed-plain = Le formulaire de la newsletter sans script
embed-plain-about = Un formulaire simple fonctionne sur toute page et mène à une page de remerciement. Les humains ne voient pas le champ `website` : qui le remplit est un programme.
embed-chat = Le chat dans la page
embed-chat-about = Les visiteurs choisissent une suggestion ou écrivent une question. La conversation reste dans leur onglet jusqu’à ce qu’ils le ferment.
embed-suggestions = Comment obtenir une clé d’API ?|Que conservez-vous à mon sujet ?
embed-button = Le chat derrière un bouton
embed-button-about = Le bouton reste dans le coin de la fenêtre et ouvre un panneau ; Échap le ferme.
embed-button-preview = Le bouton est dans le coin de cette fenêtre.
embed-attributes = Attributs
embed-name = Nom
embed-meaning = Effet
embed-of-heading = Un titre et une phrase au-dessus du formulaire.
embed-of-label = Les mots près du champ, dans le champ et sur le bouton.
embed-of-thanks = Ce qui est dit après une inscription.
embed-of-suggestions = Des questions à choisir, séparées par `\|`.
embed-of-mode = Le chat se trouve derrière un bouton.
embed-of-privacy = L’adresse de votre politique de confidentialité. Un lien s’affiche en dessous.
embed-of-lang = La langue : `en`, `de`, `fr` ou `es`. À défaut, celle de la page, puis celle du navigateur.
embed-of-theme = `light`, `dark`, ou `auto` pour ce que préfère le système du visiteur. À défaut, le `color-scheme` de la page décide.
embed-of-src = Le service, s’il n’est pas celui d’où vient le script : { $url }
embed-look = Couleurs et caractères
embed-look-about = Les éléments ne prennent de votre feuille de style que la police et ces propriétés. Leur place et leur largeur, votre page les fixe comme pour tout autre élément.
embed-of-accent = Boutons et liens, et les mots des boutons.
embed-of-text = Texte, texte discret, erreurs.
embed-of-background = Fond, lignes, bords des champs.
embed-of-box = Le cadre, sa marge intérieure, les coins arrondis.
embed-of-font = Police et taille.
embed-of-room = La hauteur maximale d’une conversation ; la distance du bouton au coin.
embed-origins = Pages d’autres origines
embed-origins-about = Le formulaire de la newsletter fonctionne sur toute page. Pour le chat, et pour remercier sans quitter la page, l’exploitant de { $url } lance le service avec `--allow-origin https://www.example.com`, l’origine de votre page. Les messages restants sont comptés par un cookie du service, que les navigateurs ne gardent que si les deux ont le même domaine enregistré.
embed-policy = Si votre page envoie une Content-Security-Policy, il lui faut ces sources. Il n’en faut aucune pour les styles.

## What the assistant says around a passage

assistant-unanswered = Les pages de ce site n’en parlent pas.
assistant-question = Que souhaitez-vous savoir ?
assistant-topics = L’une de ces questions vous aidera peut-être :
assistant-all = Tout le reste :
assistant-more = En savoir plus :
assistant-no-pages = Il n’y a pas encore de pages.
assistant-away = Le modèle de langage de l’assistant est indisponible pour le moment. Ceci vient des pages de ce site et n’est pas compté.
