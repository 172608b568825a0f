(* Generated from the formula of the claim later-work.dppo-binary (DPPO (arXiv 2602.04879), the binary approximation of total variation). *)

From Coq Require Import Reals List Bool.
From Trusted Require Import Definitions.
Open Scope R_scope.

(** D_a = |pi_a - pi_old,a|, the total variation between (pi_a, 1 - pi_a) and its former. *)
Definition gap (n : nat) (logits : vector) (drift : vector) : vector :=
  fun a => Rabs (softmax n logits a - softmax n (fun b => logits b - drift b) a).

(** (1/2) sum_a |pi_a - pi_old,a|. *)
Definition total_variation (n : nat) (logits : vector) (drift : vector) : R :=
  sum n (gap n logits drift) / 2.

Definition printed : Prop :=
  forall (n : nat) (logits : vector) (drift : vector),
  (2 <= n)%nat ->
  total_variation n logits drift <= largest n (gap n logits drift).

(** There is an instance at which it fails. *)
Definition refuted : Prop := ~ printed.
