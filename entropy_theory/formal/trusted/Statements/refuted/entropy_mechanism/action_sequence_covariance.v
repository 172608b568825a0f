(* Generated from the formula of the claim entropy-mechanism.action-sequence-covariance (Entropy Mechanism, Empirical verification (Fig. 8)). *)

From Coq Require Import Reals List Bool.
From Trusted Require Import Definitions.
Open Scope R_scope.

(** sum_s d(s) Cov_s(y, x), with y = log pi if it is left out. *)
Definition action_covariance_without_y (n : nat) (h : nat) (logits : state -> vector) (x : state -> vector) : R :=
  sum_states n h (fun s => probability n logits s * covariance n (softmax n (logits s)) (log_softmax n (logits s)) (x s)).

(** A(s, a), for a reward of responses. *)
Definition advantage (n : nat) (h : nat) (logits : state -> vector) (reward : state -> R) : state -> vector :=
  fun s a => centered n (softmax n (logits s)) (action_value n h logits (edge_reward h reward) s) a.

(** pi(a|s) A(s, a). *)
Definition weighted_advantage (n : nat) (h : nat) (logits : state -> vector) (reward : state -> R) : state -> vector :=
  fun s a => softmax n (logits s) a * advantage n h logits reward s a.

(** Cov_y(log pi(y), f(y)) over responses. *)
Definition response_covariance (n : nat) (h : nat) (logits : state -> vector) (of_responses : state -> R) : R :=
  covariance_responses n h logits (sum_along (fun s a => log_softmax n (logits s) a)) of_responses.

Definition printed : Prop :=
  forall (n h : nat) (logits : state -> vector) (reward : state -> R),
  (2 <= n)%nat ->
  (1 <= h)%nat ->
  action_covariance_without_y n h logits (weighted_advantage n h logits reward) = response_covariance n h logits (fun y => probability n logits y * (reward y - mean_responses n h logits reward)).

(** There is an instance at which it fails. *)
Definition refuted : Prop := ~ printed.
