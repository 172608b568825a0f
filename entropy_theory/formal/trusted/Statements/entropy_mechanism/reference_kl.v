(* Generated from the formula of the claim entropy-mechanism.reference-kl (Entropy Mechanism, Figure 10 ('control entropy at the cost of performance drop')). *)

From Coq Require Import Reals List Bool.
From Trusted Require Import Definitions.
Open Scope R_scope.

(** E R - beta KL(pi || pi_ref) of the policy with these logits. *)
Definition penalized (n : nat) (logits : vector) (reference : vector) (correct : mask) (beta : R) : R :=
  total_on n correct (softmax n logits) - beta * mean n (softmax n logits) (fun a => log_softmax n logits a - log_softmax n reference a).

(** Logits of the reference plus R/beta. *)
Definition penalized_optimum (n : nat) (reference : vector) (correct : mask) (beta : R) : vector :=
  fun a => reference a + (if correct a then 1 else 0) / beta.

Definition statement : Prop :=
  forall (n : nat) (logits : vector) (correct : mask) (other : vector) (beta : R),
  (2 <= n)%nat ->
  nonempty n correct ->
  0 < beta ->
  (~ (forall a, (a < n)%nat -> correct a = true)) ->
  (penalized n other logits correct beta <= penalized n (penalized_optimum n logits correct beta) logits correct beta /\
  exp (- 1 / beta) * total_on n (fun a => negb (correct a)) (softmax n logits) <= total_on n (fun a => negb (correct a)) (softmax n (penalized_optimum n logits correct beta)) /\
  total_on n (fun a => negb (correct a)) (softmax n (penalized_optimum n logits correct beta)) <= total_on n (fun a => negb (correct a)) (softmax n logits)) /\
  0 < total_on n (fun a => negb (correct a)) (softmax n (penalized_optimum n logits correct beta)) /\
  total_on n (fun a => negb (correct a)) (softmax n (penalized_optimum n logits correct beta)) < total_on n (fun a => negb (correct a)) (softmax n logits).

Definition witness : Prop :=
  exists (n : nat) (logits : vector) (correct : mask) (other : vector) (beta : R),
  (2 <= n)%nat /\
  nonempty n correct /\
  0 < beta /\
  (~ (forall a, (a < n)%nat -> correct a = true)).

Definition penalized_optimum_defined (n : nat) (reference : vector) (correct : mask) (beta : R) (a : nat) : Prop :=
  beta <> 0.

Definition defined : Prop :=
  forall (n : nat) (logits : vector) (correct : mask) (other : vector) (beta : R),
  (2 <= n)%nat ->
  nonempty n correct ->
  0 < beta ->
  (~ (forall a, (a < n)%nat -> correct a = true)) ->
  (forall a, (a < n)%nat -> penalized_optimum_defined n logits correct beta a) /\
  (forall a, (a < n)%nat -> (~ (correct a = true)) -> forall b, (b < n)%nat -> penalized_optimum_defined n logits correct beta b) /\
  beta <> 0.
