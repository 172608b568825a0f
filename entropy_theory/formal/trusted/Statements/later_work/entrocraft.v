(* Generated from the formula of the claim later-work.entrocraft (Entrocraft (arXiv 2604.26326), the sign rule). *)

From Coq Require Import Reals List Bool.
From Trusted Require Import Definitions.
Open Scope R_scope.

(** The least likely correct logit minus the largest wrong one. *)
Definition correct_above (n : nat) (logits : vector) (correct : mask) : R :=
  smallest_on n correct logits - largest_on n (fun a => negb (correct a)) logits.

(** The least likely wrong logit minus the largest correct one. *)
Definition correct_below (n : nat) (logits : vector) (correct : mask) : R :=
  smallest_on n (fun a => negb (correct a)) logits - largest_on n correct logits.

(** c_a = Cov_pi(z, delta_a). *)
Definition own_covariance (n : nat) (logits : vector) : vector :=
  fun a => softmax n logits a * centered n (softmax n logits) logits a.

(** c_a - C. *)
Definition excess (n : nat) (logits : vector) : vector :=
  centered n (softmax n logits) (own_covariance n logits).

(** Entropy rate of training on positives only: -sum_{A*} pi_a (S_a - Sbar). *)
Definition rate_of_positives (n : nat) (logits : vector) (correct : mask) : R :=
  - total_on n correct (fun a => softmax n logits a * excess n logits a).

(** Entropy rate of training on negatives only, score -1: sum_W pi_a (S_a - Sbar). *)
Definition rate_of_negatives (n : nat) (logits : vector) (correct : mask) : R :=
  total_on n (fun a => negb (correct a)) (fun a => softmax n logits a * excess n logits a).

(** The expected step of positives: 1_{A*} pi - p pi. *)
Definition positives_only (n : nat) (logits : vector) (correct : mask) : vector :=
  fun a => (if correct a then softmax n logits a else 0) - total_on n correct (softmax n logits) * softmax n logits a.

(** The expected step of negatives: -(1_W pi - (1 - p) pi). *)
Definition negatives_only (n : nat) (logits : vector) (correct : mask) : vector :=
  fun a => - ((if correct a then 0 else softmax n logits a) - total_on n (fun b => negb (correct b)) (softmax n logits) * softmax n logits a).

Definition repair : Prop :=
  forall (n : nat) (logits : vector) (correct : mask),
  (2 <= n)%nat ->
  nonempty n correct ->
  (~ (forall a, (a < n)%nat -> correct a = true)) ->
  0 <= Rmax (correct_above n logits correct) (correct_below n logits correct) ->
  (0 <= (if negb (less (correct_above n logits correct) 0) then - 1 else 1) * rate_of_positives n logits correct /\
  0 <= (if negb (less (correct_above n logits correct) 0) then - 1 else 1) * rate_of_negatives n logits correct) /\
  (forall a, (a < n)%nat -> positives_only n logits correct a = negatives_only n logits correct a) /\
  derivative (fun t => entropy n (fun a => logits a + t * positives_only n logits correct a)) (0) (rate_of_positives n logits correct) /\
  rate_of_negatives n logits correct = rate_of_positives n logits correct.

Definition witness : Prop :=
  exists (n : nat) (logits : vector) (correct : mask),
  (2 <= n)%nat /\
  nonempty n correct /\
  (~ (forall a, (a < n)%nat -> correct a = true)) /\
  0 <= Rmax (correct_above n logits correct) (correct_below n logits correct).
