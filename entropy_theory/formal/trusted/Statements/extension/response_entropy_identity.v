(* Generated from the formula of the claim extension.response-entropy-identity (Extension of Entropy Mechanism, Lemma 1). *)

From Coq Require Import Reals List Bool.
From Trusted Require Import Definitions.
Open Scope R_scope.

(** d/dt of the entropy of responses along z + t step: the product rule, level by level. *)
Definition entropy_rate (n : nat) (h : nat) (logits : state -> vector) (step : state -> vector) : R :=
  value_at n h logits (fun s a => centered n (softmax n (logits s)) (step s) a * action_value n h logits (fun u b => - log_softmax n (logits u) b) s a) nil.

(** Cov_y(log pi(y), f(y)) over responses. *)
Definition response_covariance (n : nat) (h : nat) (logits : state -> vector) (of_responses : state -> R) : R :=
  covariance_responses n h logits (sum_along (fun s a => log_softmax n (logits s) a)) of_responses.

(** sum_t (x_t - E x_t) along each response, or sum_t x_t. *)
Definition summed (n : nat) (h : nat) (logits : state -> vector) (x : state -> vector) : state -> R :=
  sum_along (fun s a => centered n (softmax n (logits s)) (x s) a).

(** sum_s d(s) Cov_s(y, x), with y = log pi if it is left out. *)
Definition action_covariance (n : nat) (h : nat) (logits : state -> vector) (x : state -> vector) (y : state -> vector) : R :=
  sum_states n h (fun s => probability n logits s * covariance n (softmax n (logits s)) (y s) (x s)).

(** H(sa): the expected entropy still to come after a token (zero after the last). *)
Definition entropy_to_go (n : nat) (h : nat) (logits : state -> vector) : state -> vector :=
  fun s a => action_value n h logits (fun u b => - log_softmax n (logits u) b) s a + log_softmax n (logits s) a.

Definition statement : Prop :=
  forall (n h : nat) (logits : state -> vector) (step : state -> vector),
  (2 <= n)%nat ->
  (1 <= h)%nat ->
  (entropy_rate n h logits step + response_covariance n h logits (summed n h logits step) = 0 /\
  entropy_rate n h logits step = action_covariance n h logits step (fun s a => entropy_to_go n h logits s a - log_softmax n (logits s) a)) /\
  (forall path : R -> state -> nat -> R, (forall velocity : state -> vector, ((forall s, state_of n h s -> forall a, (a < n)%nat -> derivative (fun t => path t s a) (0) (velocity s a)) -> forall y, response_of n h y -> derivative (fun t => sum_along (fun s a => log_softmax n (path t s) a) y) (0) (summed n h (path 0) velocity y)))) /\
  (forall path : R -> state -> nat -> R, (forall velocity : state -> vector, ((forall s, state_of n h s -> forall a, (a < n)%nat -> derivative (fun t => path t s a) (0) (velocity s a)) -> derivative (fun t => response_entropy n h (path t)) (0) (- response_covariance n h (path 0) (summed n h (path 0) velocity))))).

Definition witness : Prop :=
  exists (n h : nat) (logits : state -> vector) (step : state -> vector),
  (2 <= n)%nat /\
  (1 <= h)%nat.

Definition witness_1 : Prop :=
  exists (n h : nat) (logits : state -> vector) (step : state -> vector),
  (2 <= n)%nat /\
  (1 <= h)%nat /\
  (exists path : R -> state -> nat -> R, (exists velocity : state -> vector, (forall s, state_of n h s -> forall a, (a < n)%nat -> derivative (fun t => path t s a) (0) (velocity s a)))).

Definition witness_2 : Prop :=
  exists (n h : nat) (logits : state -> vector) (step : state -> vector),
  (2 <= n)%nat /\
  (1 <= h)%nat /\
  (exists path : R -> state -> nat -> R, (exists velocity : state -> vector, (forall s, state_of n h s -> forall a, (a < n)%nat -> derivative (fun t => path t s a) (0) (velocity s a)))).
