(** The axioms of the classical real numbers: a proof may use these, of these types, and no others. *)

From Coq Require ClassicalDedekindReals FunctionalExtensionality Classical_Prop.

Definition sig_not_dec : forall P : Prop, {~ ~ P} + {~ P} := @Coq.Reals.ClassicalDedekindReals.sig_not_dec.
Definition sig_forall_dec :
    forall P : nat -> Prop, (forall n, {P n} + {~ P n}) -> {n | ~ P n} + {forall n, P n}
  := @Coq.Reals.ClassicalDedekindReals.sig_forall_dec.
Definition functional_extensionality_dep :
    forall (A : Type) (B : A -> Type) (f g : forall x : A, B x), (forall x, f x = g x) -> f = g
  := @Coq.Logic.FunctionalExtensionality.functional_extensionality_dep.
Definition classic : forall P : Prop, P \/ ~ P := @Coq.Logic.Classical_Prop.classic.
