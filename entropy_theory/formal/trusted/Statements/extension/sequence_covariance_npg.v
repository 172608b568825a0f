(* Generated from the formula of the claim extension.sequence-covariance-npg (Extension of Entropy Mechanism, Theorem 2). *)

From Coq Require Import Reals List Bool.
From Trusted Require Import Definitions.
Open Scope R_scope.

(** d/dt of the entropy of responses along z + t step: the product rule, level by level. *)
Definition entropy_rate (n : nat) (h : nat) (logits : state -> vector) (step : state -> vector) : R :=
  value_at n h logits (fun s a => centered n (softmax n (logits s)) (step s) a * action_value n h logits (fun u b => - log_softmax n (logits u) b) s a) nil.

(** A(s, a), for a reward of responses. *)
Definition advantage (n : nat) (h : nat) (logits : state -> vector) (reward : state -> R) : state -> vector :=
  fun s a => centered n (softmax n (logits s)) (action_value n h logits (edge_reward h reward) s) a.

(** Cov_y(log pi(y), f(y)) over responses. *)
Definition response_covariance (n : nat) (h : nat) (logits : state -> vector) (of_responses : state -> R) : R :=
  covariance_responses n h logits (sum_along (fun s a => log_softmax n (logits s) a)) of_responses.

(** sum_t (x_t - E x_t) along each response, or sum_t x_t. *)
Definition summed (n : nat) (h : nat) (logits : state -> vector) (x : state -> vector) : state -> R :=
  sum_along (fun s a => centered n (softmax n (logits s)) (x s) a).

Definition statement : Prop :=
  forall (n h : nat) (logits : state -> vector) (reward : state -> R),
  (2 <= n)%nat ->
  (1 <= h)%nat ->
  entropy_rate n h logits (advantage n h logits reward) + response_covariance n h logits (fun y => reward y - mean_responses n h logits reward) = 0 /\
  (forall direction : state -> vector, (derivative (fun t => mean_responses n h (fun s a => logits s a + t * direction s a) reward) (0) (mean_responses n h logits (fun y => summed n h logits (advantage n h logits reward) y * summed n h logits direction y)))) /\
  derivative (fun t => response_entropy n h (fun s a => logits s a + t * advantage n h logits reward s a)) (0) (- response_covariance n h logits (fun y => reward y - mean_responses n h logits reward)).

Definition witness : Prop :=
  exists (n h : nat) (logits : state -> vector) (reward : state -> R),
  (2 <= n)%nat /\
  (1 <= h)%nat.
