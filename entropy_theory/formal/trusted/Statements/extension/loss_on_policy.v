(* Generated from the formula of the claim extension.loss-on-policy (ours: GRPO with PPO's clip, CE-GPPO, CISPO, DPPO, SAPO, VESPO, TOPR, DRO). *)

From Coq Require Import Reals List Bool.
From Trusted Require Import Definitions.
Open Scope R_scope.

(** CE-GPPO's coefficients; with nothing kept beyond the clip those of PPO. *)
Definition ce_gppo (n : nat) (r : vector) (score : vector) (clip_low : R) (clip_high : R) (kept_low : R) (kept_high : R) : vector :=
  fun a => score a * (if less 0 (score a) then if less (1 + clip_high) (r a) then kept_high * (1 + clip_high) else r a else if less (r a) (1 - clip_low) then kept_low * (1 - clip_low) else r a).

(** CISPO's weight clip(r, 1 - eps_low, 1 + eps_high). *)
Definition cispo (n : nat) (r : vector) (clip_low : R) (clip_high : R) : vector :=
  fun a => Rmin (Rmax (r a) (1 - clip_low)) (1 + clip_high).

(** DPPO's r A, and 0 where pi has moved along A by more than delta. *)
Definition dppo (n : nat) (policy : vector) (old : vector) (score : vector) (delta : R) : vector :=
  fun a => if less delta (if less 0 (score a) then policy a - old a else old a - policy a) then 0 else policy a / old a * score a.

(** SAPO's weight r f'(r) = 4 r s (1 - s), s = sigmoid(tau (r - 1)). *)
Definition gate (n : nat) (r : vector) (tau : R) : vector :=
  fun a => 4 * r a * exp (- tau * (r a - 1)) / (1 + exp (- tau * (r a - 1))) ^ 2.

(** VESPO's weight phi(r) = r^k exp(lambda (1 - r)). *)
Definition bump (n : nat) (r : vector) (power : R) (decay : R) : vector :=
  fun a => exp (power * ln (r a) + decay * (1 - r a)).

(** TOPR's A where A > 0, min(r, 1) A elsewhere. *)
Definition topr (n : nat) (r : vector) (score : vector) : vector :=
  fun a => if less 0 (score a) then score a else Rmin (r a) 1 * score a.

(** DRO's A - beta log r. *)
Definition dro (n : nat) (r : vector) (score : vector) (beta : R) : vector :=
  fun a => score a - beta * ln (r a).

Definition statement : Prop :=
  forall (n : nat) (logits : vector) (score : vector) (clip_low : R) (clip_high : R) (kept_low : R) (kept_high : R) (delta : R) (tau : R) (power : R) (decay : R) (beta : R) (shift : R),
  (2 <= n)%nat ->
  0 < clip_low ->
  clip_low < 1 ->
  0 < clip_high ->
  clip_high < 1 ->
  0 < kept_low ->
  0 < kept_high ->
  0 < delta ->
  delta < 1 ->
  0 < tau ->
  0 < power ->
  0 < decay ->
  0 < beta ->
  ((forall a, (a < n)%nat -> ce_gppo n (fun b => softmax n logits b / softmax n (fun c => logits c + shift) b) score clip_low clip_high 0 0 a = score a) /\
  (forall a, (a < n)%nat -> ce_gppo n (fun b => softmax n logits b / softmax n (fun c => logits c + shift) b) score clip_low clip_high kept_low kept_high a = score a) /\
  (forall a, (a < n)%nat -> cispo n (fun b => softmax n logits b / softmax n (fun c => logits c + shift) b) clip_low clip_high a * score a = score a) /\
  (forall a, (a < n)%nat -> dppo n (softmax n logits) (softmax n (fun c => logits c + shift)) score delta a = score a) /\
  (forall a, (a < n)%nat -> gate n (fun b => softmax n logits b / softmax n (fun c => logits c + shift) b) tau a * score a = score a) /\
  (forall a, (a < n)%nat -> bump n (fun b => softmax n logits b / softmax n (fun c => logits c + shift) b) power decay a * score a = score a) /\
  (forall a, (a < n)%nat -> topr n (fun b => softmax n logits b / softmax n (fun c => logits c + shift) b) score a = score a) /\
  (forall a, (a < n)%nat -> dro n (fun b => softmax n logits b / softmax n (fun c => logits c + shift) b) score beta a = score a)) /\
  (forall a, (a < n)%nat -> derivative (fun t => gate n (fun b => t + 0) tau a) (1) (1)) /\
  (forall a, (a < n)%nat -> derivative (fun t => bump n (fun b => t + 0) power decay a) (1) (power - decay + 0)) /\
  (forall a, (a < n)%nat -> derivative (fun t => dro n (fun b => t + 0) score beta a) (1) (- beta + 0)).

Definition witness : Prop :=
  exists (n : nat) (logits : vector) (score : vector) (clip_low : R) (clip_high : R) (kept_low : R) (kept_high : R) (delta : R) (tau : R) (power : R) (decay : R) (beta : R) (shift : R),
  (2 <= n)%nat /\
  0 < clip_low /\
  clip_low < 1 /\
  0 < clip_high /\
  clip_high < 1 /\
  0 < kept_low /\
  0 < kept_high /\
  0 < delta /\
  delta < 1 /\
  0 < tau /\
  0 < power /\
  0 < decay /\
  0 < beta.

Definition dppo_defined (n : nat) (policy : vector) (old : vector) (score : vector) (delta : R) (a : nat) : Prop :=
  (~ (delta < (if less 0 (score a) then policy a - old a else old a - policy a)) -> old a <> 0).

Definition gate_defined (n : nat) (r : vector) (tau : R) (a : nat) : Prop :=
  (1 + exp (- tau * (r a - 1))) ^ 2 <> 0.

Definition bump_defined (n : nat) (r : vector) (power : R) (decay : R) (a : nat) : Prop :=
  0 < r a.

Definition dro_defined (n : nat) (r : vector) (score : vector) (beta : R) (a : nat) : Prop :=
  0 < r a.

Definition defined : Prop :=
  forall (n : nat) (logits : vector) (score : vector) (clip_low : R) (clip_high : R) (kept_low : R) (kept_high : R) (delta : R) (tau : R) (power : R) (decay : R) (beta : R) (shift : R),
  (2 <= n)%nat ->
  0 < clip_low ->
  clip_low < 1 ->
  0 < clip_high ->
  clip_high < 1 ->
  0 < kept_low ->
  0 < kept_high ->
  0 < delta ->
  delta < 1 ->
  0 < tau ->
  0 < power ->
  0 < decay ->
  0 < beta ->
  (forall b, (b < n)%nat -> softmax n (fun c => logits c + shift) b <> 0) /\
  (forall a, (a < n)%nat -> dppo_defined n (softmax n logits) (softmax n (fun c => logits c + shift)) score delta a) /\
  (forall a, (a < n)%nat -> gate_defined n (fun b => softmax n logits b / softmax n (fun c => logits c + shift) b) tau a) /\
  (forall a, (a < n)%nat -> bump_defined n (fun b => softmax n logits b / softmax n (fun c => logits c + shift) b) power decay a) /\
  (forall a, (a < n)%nat -> dro_defined n (fun b => softmax n logits b / softmax n (fun c => logits c + shift) b) score beta a) /\
  (forall a, (a < n)%nat -> forall t : R, t = 1 -> gate_defined n (fun b => t + 0) tau a) /\
  (forall a, (a < n)%nat -> forall t : R, t = 1 -> bump_defined n (fun b => t + 0) power decay a) /\
  (forall a, (a < n)%nat -> forall t : R, t = 1 -> dro_defined n (fun b => t + 0) score beta a).
