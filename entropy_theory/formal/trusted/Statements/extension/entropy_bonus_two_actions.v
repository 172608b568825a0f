(* Generated from the formula of the claim extension.entropy-bonus-two-actions (Extension: entropy bonus with vanilla gradient steps). *)

From Coq Require Import Reals List Bool.
From Trusted Require Import Definitions.
Open Scope R_scope.

(** c_a = Cov_pi(z, delta_a). *)
Definition own_covariance (n : nat) (logits : vector) : vector :=
  fun a => softmax n logits a * centered n (softmax n logits) logits a.

(** The step -c S of strength c = eta lambda. *)
Definition bonus_step (n : nat) (logits : vector) (strength : R) : vector :=
  fun a => - strength * own_covariance n logits a.

Definition statement : Prop :=
  forall (n : nat) (logits : vector) (share : R),
  n = 2%nat ->
  0 < share ->
  share <= 1 ->
  0 <= entropy_change n logits (bonus_step n logits (share * 4)) /\
  (forall c : R, ((((0 < c) /\ (1 / c < softmax n logits 0%nat * softmax n logits 1%nat)) /\ (~ (logits 0%nat = logits 1%nat))) -> entropy_change n logits (bonus_step n logits c) < 0)).

Definition witness : Prop :=
  exists (n : nat) (logits : vector) (share : R),
  n = 2%nat /\
  0 < share /\
  share <= 1.

Definition witness_1 : Prop :=
  exists (n : nat) (logits : vector) (share : R),
  n = 2%nat /\
  0 < share /\
  share <= 1 /\
  (exists c : R, (((0 < c) /\ (1 / c < softmax n logits 0%nat * softmax n logits 1%nat)) /\ (~ (logits 0%nat = logits 1%nat)))).

Definition defined : Prop :=
  forall (n : nat) (logits : vector) (share : R),
  n = 2%nat ->
  0 < share ->
  share <= 1 ->
  (forall c : R, (0 < c) -> c <> 0).
