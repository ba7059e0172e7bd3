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
newsletter-proof = Plusieurs inscriptions sont venues de votre réseau. Veuillez envoyer le formulaire encore une fois : votre navigateur fera un bref calcul, ce qui tient les robots à distance.
newsletter-proof-wait = Plusieurs inscriptions sont venues de votre réseau. Veuillez réessayer dans { $wait }.
newsletter-unavailable = Nous ne pouvons pas enregistrer votre adresse pour le moment. Veuillez réessayer dans quelques minutes.

## Thanks

thanks-title = Merci
thanks-kept = Votre adresse est sur la liste.
thanks-passed-on = Votre adresse a été transmise à notre prestataire de newsletter. Si vous recevez un message de confirmation, veuillez suivre le lien qu’il contient.
thanks-home = Vers la page d’accueil

## Cadre de chaque page

frame-skip = Aller au contenu
frame-navigation = Site
frame-home = Accueil
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
home-chat-title = Des questions ? Posez-les ici
home-chat-model = Un modèle de langage répond, et il peut se tromper. Ce que vous écrivez est envoyé au modèle choisi par les responsables de ce site.
home-chat-search = L’assistant trouve dans nos pages le passage qui répond à votre question. Ce que vous écrivez n’est pas conservé.
home-chat-unscripted = Avec les scripts activés, vous pouvez interroger l’assistant ici. Sans eux, la page d’[aide](/help) répond aux questions courantes.
home-suggestion-site = Quel est ce site ?
home-suggestion-leave = Comment me désabonner ?
home-suggestion-stored = Quelles données gardez-vous sur moi ?
home-developers-title = Pour les développeurs et les agents
home-developers = Tout cela est une API JSON gratuite et sans compte : la [page des développeurs]({ $developers }) propose clés et commandes, le [guide]({ $docs }) explique chaque appel (en anglais), et [llms.txt]({ $llms }) énumère tout ce qu’il y a à lire.
home-more-pages = Autres pages
home-erp = L’ERP est un système à part : <{ $url }>

## Pages d’erreur

error-not-found-title = Cette page n’existe pas
error-not-found = L’adresse est peut-être mal écrite, ou la page a été déplacée. Les majuscules et la barre oblique finale comptent.
error-method-title = Cela n’est pas possible ici
error-method = Cette adresse n’accepte pas ce qui a été envoyé. Revenez en arrière et essayez autrement.
error-too-many-title = Une petite pause, s’il vous plaît
error-too-many = De nombreuses requêtes sont arrivées de votre réseau. Réessayez dans { $time }.
error-broken-title = Un problème est survenu de notre côté
error-broken = Réessayez dans un instant. Si le problème persiste, communiquez ce numéro aux responsables de ce site : { $id }
error-other-title = Cela n’a pas fonctionné
error-other = La requête n’a pas pu être comprise. Revenez en arrière et réessayez.
error-home = Vers l’accueil
