(* Generated from the formula of the claim later-work.opefo-reward (OPEFO (arXiv 2605.11491), what balancing costs). *)

From Coq Require Import Reals List Bool.
From Trusted Require Import Definitions.
Open Scope R_scope.

(** c_a = Cov_pi(z, delta_a). *)
Definition own_covariance (n : nat) (logits : vector) : vector :=
  fun a => softmax n logits a * centered n (softmax n logits) logits a.

(** c_a - C. *)
Definition excess (n : nat) (logits : vector) : vector :=
  centered n (softmax n logits) (own_covariance n logits).

(** The first-order change of entropy by the tokens of each action: f_a = -G_a (S_a - Sbar). *)
Definition flows (n : nat) (logits : vector) (coefficients : vector) : vector :=
  fun a => - coefficients a * excess n logits a.

(** lambda* = -sum f / sum |f|. *)
Definition balance (n : nat) (flow : vector) : R :=
  - sum n flow / sum n (fun a => Rabs (flow a)).

(** sum_a m_a G_a (e_a - pi), with m = 1 + lambda* on rises, 1 - lambda* on falls. *)
Definition balanced (n : nat) (logits : vector) (coefficients : vector) (flow : vector) : vector :=
  fun a => (1 + balance n flow * sign_of (flow a)) * coefficients a - sum n (fun b => (1 + balance n flow * sign_of (flow b)) * coefficients b) * softmax n logits a.

Definition printed : Prop :=
  forall (n : nat) (logits : vector) (reward : vector),
  (2 <= n)%nat ->
  4722366482869645 / 4722366482869645213696 < sum n (fun a => Rabs (flows n logits (fun b => softmax n logits b * centered n (softmax n logits) reward b) a)) ->
  0 <= sum n (fun a => balanced n logits (fun b => softmax n logits b * centered n (softmax n logits) reward b) (flows n logits (fun c => softmax n logits c * centered n (softmax n logits) reward c)) a * softmax n logits a * centered n (softmax n logits) reward a).

Definition balance_defined (n : nat) (flow : vector) : Prop :=
  sum n (fun a => Rabs (flow a)) <> 0.

Definition balanced_defined (n : nat) (logits : vector) (coefficients : vector) (flow : vector) (a : nat) : Prop :=
  balance_defined n flow.

Definition defined : Prop :=
  forall (n : nat) (logits : vector) (reward : vector),
  (2 <= n)%nat ->
  4722366482869645 / 4722366482869645213696 < sum n (fun a => Rabs (flows n logits (fun b => softmax n logits b * centered n (softmax n logits) reward b) a)) ->
  (forall a, (a < n)%nat -> balanced_defined n logits (fun b => softmax n logits b * centered n (softmax n logits) reward b) (flows n logits (fun c => softmax n logits c * centered n (softmax n logits) reward c)) a).

(** There is an instance at which it fails. *)
Definition refuted : Prop := ~ printed.
