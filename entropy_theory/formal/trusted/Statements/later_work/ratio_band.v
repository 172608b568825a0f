(* Generated from the formula of the claim later-work.ratio-band (REPO (arXiv 2603.11682), Theorem 2). *)

From Coq Require Import Reals List Bool.
From Trusted Require Import Definitions.
Open Scope R_scope.

(** pi / pi_old, where the logits have drifted since pi_old. *)
Definition ratio (n : nat) (logits : vector) (drift : vector) : vector :=
  fun a => softmax n logits a / softmax n (fun b => logits b - drift b) a.

Definition statement : Prop :=
  forall (n : nat) (logits : vector) (drift : vector) (clip_low : R) (clip_high : R),
  (2 <= n)%nat ->
  0 < clip_low ->
  clip_low <= 1 ->
  0 < clip_high ->
  1 - clip_low <= smallest n (ratio n logits drift) ->
  largest n (ratio n logits drift) <= 1 + clip_high ->
  (1 - clip_low) * entropy n (fun a => logits a - drift a) <= entropy n logits /\
  entropy n logits <= (1 + clip_high) * entropy n (fun a => logits a - drift a).

Definition witness : Prop :=
  exists (n : nat) (logits : vector) (drift : vector) (clip_low : R) (clip_high : R),
  (2 <= n)%nat /\
  0 < clip_low /\
  clip_low <= 1 /\
  0 < clip_high /\
  1 - clip_low <= smallest n (ratio n logits drift) /\
  largest n (ratio n logits drift) <= 1 + clip_high.

Definition ratio_defined (n : nat) (logits : vector) (drift : vector) (a : nat) : Prop :=
  softmax n (fun b => logits b - drift b) a <> 0.

Definition defined : Prop :=
  forall (n : nat) (logits : vector) (drift : vector) (clip_low : R) (clip_high : R),
  (2 <= n)%nat ->
  0 < clip_low ->
  clip_low <= 1 ->
  0 < clip_high ->
  1 - clip_low <= smallest n (ratio n logits drift) ->
  largest n (ratio n logits drift) <= 1 + clip_high ->
  (forall a, (a < n)%nat -> ratio_defined n logits drift a).
