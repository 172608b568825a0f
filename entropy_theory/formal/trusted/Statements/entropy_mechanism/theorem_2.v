(* Generated from the formula of the claim entropy-mechanism.theorem-2 (Entropy Mechanism, Theorem 2). *)

From Coq Require Import Reals List Bool.
From Trusted Require Import Definitions.
Open Scope R_scope.

(** (1/4)(1 + log n) ||step||_2^2. *)
Definition remainder_bound (n : nat) (h : nat) (step : state -> vector) : state -> R :=
  fun s => (1 + ln (INR n)) * sum n (fun a => step s a * step s a) / 4.

(** A(s, a), for a reward of responses. *)
Definition advantage (n : nat) (h : nat) (logits : state -> vector) (reward : state -> R) : state -> vector :=
  fun s a => centered n (softmax n (logits s)) (action_value n h logits (edge_reward h reward) s) a.

(** sum_t (x_t - E x_t) along each response, or sum_t x_t. *)
Definition summed (n : nat) (h : nat) (logits : state -> vector) (x : state -> vector) : state -> R :=
  sum_along (fun s a => centered n (softmax n (logits s)) (x s) a).

Definition statement : Prop :=
  forall (n h : nat) (logits : state -> vector) (reward : state -> R) (learning_rate : R),
  (2 <= n)%nat ->
  (1 <= h)%nat ->
  0 < learning_rate ->
  (forall s, state_of n h s -> Rabs (entropy_change n (logits s) (fun a => learning_rate * advantage n h logits reward s a) - learning_rate * - covariance n (softmax n (logits s)) (log_softmax n (logits s)) (advantage n h logits reward s)) <= remainder_bound n h (fun u a => learning_rate * advantage n h logits reward u a) s) /\
  (forall direction : state -> vector, (derivative (fun t => mean_responses n h (fun s a => logits s a + t * direction s a) reward) (0) (mean_responses n h logits (fun y => summed n h logits (advantage n h logits reward) y * summed n h logits direction y)))).

Definition witness : Prop :=
  exists (n h : nat) (logits : state -> vector) (reward : state -> R) (learning_rate : R),
  (2 <= n)%nat /\
  (1 <= h)%nat /\
  0 < learning_rate.

Definition remainder_bound_defined (n : nat) (h : nat) (step : state -> vector) (s : state) : Prop :=
  0 < INR n.

Definition defined : Prop :=
  forall (n h : nat) (logits : state -> vector) (reward : state -> R) (learning_rate : R),
  (2 <= n)%nat ->
  (1 <= h)%nat ->
  0 < learning_rate ->
  (forall s, state_of n h s -> remainder_bound_defined n h (fun u a => learning_rate * advantage n h logits reward u a) s).
