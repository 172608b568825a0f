(* Generated from the formula of the claim entropy-mechanism.theorem-1 (Entropy Mechanism, Theorem 1). *)

From Coq Require Import Reals List Bool.
From Trusted Require Import Definitions.
Open Scope R_scope.

(** (1/4)(1 + log n) ||step||_2^2. *)
Definition remainder_bound (n : nat) (h : nat) (step : state -> vector) : state -> R :=
  fun s => (1 + ln (INR n)) * sum n (fun a => step s a * step s a) / 4.

(** The sum of pi(y) R(y) over the responses that take this token there. *)
Definition reward_through (n : nat) (h : nat) (logits : state -> vector) (reward : state -> R) : state -> vector :=
  total_through n h (fun y => probability n logits y * reward y).

(** dJ/dz from the responses: sum_y pi(y) R(y) sum_t 1[s_t = s] (1[a_t = a] - pi(a|s)). *)
Definition policy_gradient (n : nat) (h : nat) (logits : state -> vector) (reward : state -> R) : state -> vector :=
  fun s a => reward_through n h logits reward s a - sum n (reward_through n h logits reward s) * softmax n (logits s) a.

(** A(s, a), for a reward of responses. *)
Definition advantage (n : nat) (h : nat) (logits : state -> vector) (reward : state -> R) : state -> vector :=
  fun s a => centered n (softmax n (logits s)) (action_value n h logits (edge_reward h reward) s) a.

(** pi(a|s) A(s, a). *)
Definition weighted_advantage (n : nat) (h : nat) (logits : state -> vector) (reward : state -> R) : state -> vector :=
  fun s a => softmax n (logits s) a * advantage n h logits reward s a.

Definition printed : Prop :=
  forall (n h : nat) (logits : state -> vector) (reward : state -> R) (learning_rate : R),
  (2 <= n)%nat ->
  (1 <= h)%nat ->
  0 < learning_rate ->
  forall s, state_of n h s -> Rabs (entropy_change n (logits s) (fun a => learning_rate * policy_gradient n h logits reward s a) - learning_rate * - covariance n (softmax n (logits s)) (log_softmax n (logits s)) (weighted_advantage n h logits reward s)) <= remainder_bound n h (fun u a => learning_rate * policy_gradient n h logits reward u a) s.

Definition remainder_bound_defined (n : nat) (h : nat) (step : state -> vector) (s : state) : Prop :=
  0 < INR n.

Definition defined : Prop :=
  forall (n h : nat) (logits : state -> vector) (reward : state -> R) (learning_rate : R),
  (2 <= n)%nat ->
  (1 <= h)%nat ->
  0 < learning_rate ->
  (forall s, state_of n h s -> remainder_bound_defined n h (fun u a => learning_rate * policy_gradient n h logits reward u a) s).

(** There is an instance at which it fails. *)
Definition refuted : Prop := ~ printed.
