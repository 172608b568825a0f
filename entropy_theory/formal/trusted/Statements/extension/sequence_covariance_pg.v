(* Generated from the formula of the claim extension.sequence-covariance-pg (Extension of Entropy Mechanism, Theorem 1). *)

From Coq Require Import Reals List Bool.
From Trusted Require Import Definitions.
Open Scope R_scope.

(** d/dt of the entropy of responses along z + t step: the product rule, level by level. *)
Definition entropy_rate (n : nat) (h : nat) (logits : state -> vector) (step : state -> vector) : R :=
  value_at n h logits (fun s a => centered n (softmax n (logits s)) (step s) a * action_value n h logits (fun u b => - log_softmax n (logits u) b) s a) nil.

(** The sum of pi(y) R(y) over the responses that take this token there. *)
Definition reward_through (n : nat) (h : nat) (logits : state -> vector) (reward : state -> R) : state -> vector :=
  total_through n h (fun y => probability n logits y * reward y).

(** dJ/dz from the responses: sum_y pi(y) R(y) sum_t 1[s_t = s] (1[a_t = a] - pi(a|s)). *)
Definition policy_gradient (n : nat) (h : nat) (logits : state -> vector) (reward : state -> R) : state -> vector :=
  fun s a => reward_through n h logits reward s a - sum n (reward_through n h logits reward s) * softmax n (logits s) a.

(** Cov_y(log pi(y), f(y)) over responses. *)
Definition response_covariance (n : nat) (h : nat) (logits : state -> vector) (of_responses : state -> R) : R :=
  covariance_responses n h logits (sum_along (fun s a => log_softmax n (logits s) a)) of_responses.

(** sum_t (x_t - E x_t) along each response, or sum_t x_t. *)
Definition summed (n : nat) (h : nat) (logits : state -> vector) (x : state -> vector) : state -> R :=
  sum_along (fun s a => centered n (softmax n (logits s)) (x s) a).

(** A(s, a), for a reward of responses. *)
Definition advantage (n : nat) (h : nat) (logits : state -> vector) (reward : state -> R) : state -> vector :=
  fun s a => centered n (softmax n (logits s)) (action_value n h logits (edge_reward h reward) s) a.

(** pi(a|s) A(s, a). *)
Definition weighted_advantage (n : nat) (h : nat) (logits : state -> vector) (reward : state -> R) : state -> vector :=
  fun s a => softmax n (logits s) a * advantage n h logits reward s a.

(** d(s) pi(a|s) A(s, a). *)
Definition gradient_formula (n : nat) (h : nat) (logits : state -> vector) (reward : state -> R) : state -> vector :=
  fun s a => probability n logits s * weighted_advantage n h logits reward s a.

Definition statement : Prop :=
  forall (n h : nat) (logits : state -> vector) (reward : state -> R),
  (2 <= n)%nat ->
  (1 <= h)%nat ->
  entropy_rate n h logits (policy_gradient n h logits reward) + response_covariance n h logits (summed n h logits (gradient_formula n h logits reward)) = 0 /\
  (forall direction : state -> vector, (derivative (fun t => mean_responses n h (fun s a => logits s a + t * direction s a) reward) (0) (sum_states n h (fun s => sum n (fun a => policy_gradient n h logits reward s a * direction s a))))) /\
  derivative (fun t => response_entropy n h (fun s a => logits s a + t * policy_gradient n h logits reward s a)) (0) (- response_covariance n h logits (summed n h logits (gradient_formula n h logits reward))).

Definition witness : Prop :=
  exists (n h : nat) (logits : state -> vector) (reward : state -> R),
  (2 <= n)%nat /\
  (1 <= h)%nat.
