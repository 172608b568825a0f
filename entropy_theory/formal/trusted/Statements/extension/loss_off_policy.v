(* Generated from the formula of the claim extension.loss-off-policy (ours: losses of the ratio on samples of an older policy). *)

From Coq Require Import Reals List Bool.
From Trusted Require Import Definitions.
Open Scope R_scope.

(** The logit step of tokens with these weighted scores: sum_a w_a (e_a - pi). *)
Definition score_step (n : nat) (logits : vector) (weighted_score : vector) : vector :=
  fun a => weighted_score a - sum n weighted_score * softmax n logits a.

(** pi / pi_old, where the logits have drifted since pi_old. *)
Definition ratio (n : nat) (logits : vector) (drift : vector) : vector :=
  fun a => softmax n logits a / softmax n (fun b => logits b - drift b) a.

(** pi_old r^kappa A. *)
Definition weighted (n : nat) (logits : vector) (moved_logits : vector) (score : vector) (slope : R) : vector :=
  fun a => softmax n logits a * exp (slope * (log_softmax n moved_logits a - log_softmax n logits a)) * score a.

Definition statement : Prop :=
  forall (n : nat) (logits : vector) (score : vector) (drift : vector) (slope : R),
  (2 <= n)%nat ->
  (forall a, (a < n)%nat -> score_step n logits (fun b => softmax n (fun c => logits c - drift c) b * ratio n logits drift b * score b) a = score_step n logits (fun b => softmax n logits b * score b) a) /\
  (forall a, (a < n)%nat -> derivative (fun t => score_step n (fun b => logits b + t * drift b) (weighted n logits (fun c => logits c + t * drift c) score slope) a - score_step n (fun b => logits b + t * drift b) (fun b => softmax n (fun c => logits c + t * drift c) b * score b) a) (0) ((slope - 1) * score_step n logits (fun b => softmax n logits b * (centered n (softmax n logits) drift b * score b)) a)).

Definition witness : Prop :=
  exists (n : nat) (logits : vector) (score : vector) (drift : vector) (slope : R),
  (2 <= n)%nat.

Definition ratio_defined (n : nat) (logits : vector) (drift : vector) (a : nat) : Prop :=
  softmax n (fun b => logits b - drift b) a <> 0.

Definition defined : Prop :=
  forall (n : nat) (logits : vector) (score : vector) (drift : vector) (slope : R),
  (2 <= n)%nat ->
  (forall b, (b < n)%nat -> ratio_defined n logits drift b).
