(* Generated from the formula of the claim extension.response-entropy-expansion (Extension of Entropy Mechanism, Lemma 1). *)

From Coq Require Import Reals List Bool.
From Trusted Require Import Definitions.
Open Scope R_scope.

(** (h/4)(1 + log h + h log n) max_s ||step_s||^2. *)
Definition response_remainder_bound (n : nat) (h : nat) (step : state -> vector) : R :=
  INR h * (1 + ln (INR h) + INR h * ln (INR n)) * largest_states n h (fun s => sum n (fun a => step s a * step s a)) / 4.

(** sum_s d(s) Cov_s(y, x), with y = log pi if it is left out. *)
Definition action_covariance (n : nat) (h : nat) (logits : state -> vector) (x : state -> vector) (y : state -> vector) : R :=
  sum_states n h (fun s => probability n logits s * covariance n (softmax n (logits s)) (y s) (x s)).

(** H(sa): the expected entropy still to come after a token (zero after the last). *)
Definition entropy_to_go (n : nat) (h : nat) (logits : state -> vector) : state -> vector :=
  fun s a => action_value n h logits (fun u b => - log_softmax n (logits u) b) s a + log_softmax n (logits s) a.

(** sum_s d(s) {-Cov_s(log pi, step) + Cov_s(H(sa), step)}. *)
Definition response_rate (n : nat) (h : nat) (logits : state -> vector) (step : state -> vector) : R :=
  action_covariance n h logits step (fun s a => entropy_to_go n h logits s a - log_softmax n (logits s) a).

Definition statement : Prop :=
  forall (n h : nat) (logits : state -> vector) (step : state -> vector) (size : R),
  (2 <= n)%nat ->
  (1 <= h)%nat ->
  0 < size ->
  Rabs (response_entropy n h (fun s a => logits s a + size * step s a) - response_entropy n h logits - response_rate n h logits (fun s a => size * step s a)) <= response_remainder_bound n h (fun s a => size * step s a) /\
  derivative (fun t => response_entropy n h (fun s a => logits s a + t * step s a)) (0) (response_rate n h logits step).

Definition witness : Prop :=
  exists (n h : nat) (logits : state -> vector) (step : state -> vector) (size : R),
  (2 <= n)%nat /\
  (1 <= h)%nat /\
  0 < size.

Definition response_remainder_bound_defined (n : nat) (h : nat) (step : state -> vector) : Prop :=
  0 < INR h /\
  0 < INR n.

Definition defined : Prop :=
  forall (n h : nat) (logits : state -> vector) (step : state -> vector) (size : R),
  (2 <= n)%nat ->
  (1 <= h)%nat ->
  0 < size ->
  response_remainder_bound_defined n h (fun s a => size * step s a).
