(* Generated from the formula of the claim entropy-mechanism.action-sequence-covariance (Entropy Mechanism, Empirical verification (Fig. 8)). *)

From Coq Require Import Reals List Bool.
From Trusted Require Import Definitions.
Open Scope R_scope.

(** sum_s d(s) Cov_s(y, x), with y = log pi if it is left out. *)
Definition action_covariance (n : nat) (h : nat) (logits : state -> vector) (x : state -> vector) (y : state -> vector) : R :=
  sum_states n h (fun s => probability n logits s * covariance n (softmax n (logits s)) (y s) (x s)).

(** A(s, a), for a reward of responses. *)
Definition advantage (n : nat) (h : nat) (logits : state -> vector) (reward : state -> R) : state -> vector :=
  fun s a => centered n (softmax n (logits s)) (action_value n h logits (edge_reward h reward) s) a.

(** pi(a|s) A(s, a). *)
Definition weighted_advantage (n : nat) (h : nat) (logits : state -> vector) (reward : state -> R) : state -> vector :=
  fun s a => softmax n (logits s) a * advantage n h logits reward s a.

(** d(s) pi(a|s) A(s, a). *)
Definition gradient_formula (n : nat) (h : nat) (logits : state -> vector) (reward : state -> R) : state -> vector :=
  fun s a => probability n logits s * weighted_advantage n h logits reward s a.

(** H(sa): the expected entropy still to come after a token (zero after the last). *)
Definition entropy_to_go (n : nat) (h : nat) (logits : state -> vector) : state -> vector :=
  fun s a => action_value n h logits (fun u b => - log_softmax n (logits u) b) s a + log_softmax n (logits s) a.

(** Cov_y(log pi(y), f(y)) over responses. *)
Definition response_covariance (n : nat) (h : nat) (logits : state -> vector) (of_responses : state -> R) : R :=
  covariance_responses n h logits (sum_along (fun s a => log_softmax n (logits s) a)) of_responses.

(** sum_t (x_t - E x_t) along each response, or sum_t x_t. *)
Definition summed (n : nat) (h : nat) (logits : state -> vector) (x : state -> vector) : state -> R :=
  sum_along (fun s a => centered n (softmax n (logits s)) (x s) a).

Definition repair : Prop :=
  forall (n h : nat) (logits : state -> vector) (reward : state -> R),
  (2 <= n)%nat ->
  (1 <= h)%nat ->
  action_covariance n h logits (gradient_formula n h logits reward) (fun s a => log_softmax n (logits s) a - entropy_to_go n h logits s a) = response_covariance n h logits (summed n h logits (gradient_formula n h logits reward)).

Definition witness : Prop :=
  exists (n h : nat) (logits : state -> vector) (reward : state -> R),
  (2 <= n)%nat /\
  (1 <= h)%nat.
