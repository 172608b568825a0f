(* Generated from the formula of the claim extension.soft-suboptimality (Extension of AEnt, Proposition 2). *)

From Coq Require Import Reals List Bool.
From Trusted Require Import Definitions.
Open Scope R_scope.

(** r - lambda log pi on each (state, token), the return put on the last token. *)
Definition regularized_edge (n : nat) (h : nat) (prompts : nat) (logits : nat -> state -> nat -> R) (reward : nat -> state -> R) (coefficient : R) : nat -> state -> nat -> R :=
  fun q s a => edge_reward h (reward q) s a - coefficient * log_softmax n (logits q s) a.

(** dV_lambda/dlogits: d(s) pi(a|s) A_lambda(s, a) (Lemma 3). *)
Definition gradient (n : nat) (h : nat) (prompts : nat) (logits : nat -> state -> nat -> R) (reward : nat -> state -> R) (coefficient : R) : nat -> state -> nat -> R :=
  fun q s a => probability n (logits q) s * softmax n (logits q s) a * (action_value n h (logits q) (regularized_edge n h prompts logits reward coefficient q) s a - value_at n h (logits q) (regularized_edge n h prompts logits reward coefficient q) s).

(** ||grad V_lambda(D)||_2^2. *)
Definition square_of_soft_gradient (n : nat) (h : nat) (prompts : nat) (logits : nat -> state -> nat -> R) (reward : nat -> state -> R) (coefficient : R) : R :=
  sum prompts (fun q => sum_states n h (fun s => sum n (fun a => gradient n h prompts logits reward coefficient q s a / INR prompts * (gradient n h prompts logits reward coefficient q s a / INR prompts)))).

(** P(s). *)
Definition visits (n : nat) (h : nat) (prompts : nat) (logits : nat -> state -> nat -> R) : nat -> state -> R :=
  fun q s => probability n (logits q) s.

(** P*(s): the visits of the soft policy. *)
Definition soft_visits (n : nat) (h : nat) (prompts : nat) (logits : nat -> state -> nat -> R) (reward : nat -> state -> R) (coefficient : R) : nat -> state -> R :=
  fun q s => probability n (soft_policy n h coefficient (edge_reward h (reward q))) s.

(** min_s P(s)^2 min_a pi(a|s)^2 / P*(s). *)
Definition soft_constant (n : nat) (h : nat) (prompts : nat) (logits : nat -> state -> nat -> R) (reward : nat -> state -> R) (coefficient : R) : nat -> R :=
  fun q => - largest_states n h (fun s => - ((visits n h prompts logits q s * smallest n (softmax n (logits q s))) ^ 2 / soft_visits n h prompts logits reward coefficient q s)).

(** V* - V = sum_y pi(y) (R* - R(y)). *)
Definition gap (n : nat) (h : nat) (prompts : nat) (logits : nat -> state -> nat -> R) (reward : nat -> state -> R) : nat -> R :=
  fun q => mean_responses n h (logits q) (fun y => largest_responses n h (reward q) - reward q y).

(** The right responses: those of the largest return. *)
Definition is_right (n : nat) (h : nat) (prompts : nat) (reward : nat -> state -> R) : nat -> state -> bool :=
  fun q y => equal (reward q y) (largest_responses n h (reward q)).

(** |A*|: the number of right responses. *)
Definition number_right (n : nat) (h : nat) (prompts : nat) (reward : nat -> state -> R) : nat -> R :=
  fun q => sum_responses n h (fun y => if is_right n h prompts reward q y then 1 else 0).

(** lambda (h log|A| - log|A*|) = lambda h log(|A|/|A*|^{1/h}). *)
Definition entropy_bias (n : nat) (h : nat) (prompts : nat) (logits : nat -> state -> nat -> R) (reward : nat -> state -> R) (coefficient : R) : nat -> R :=
  fun q => coefficient * (INR h * ln (INR n) - ln (number_right n h prompts reward q)).

Definition statement : Prop :=
  forall (n h prompts : nat) (logits : nat -> state -> nat -> R) (reward : nat -> state -> R) (coefficient : R),
  (2 <= n)%nat ->
  (1 <= h)%nat ->
  (1 <= prompts)%nat ->
  0 < coefficient ->
  forall q, (q < prompts)%nat -> 4 * coefficient * (soft_constant n h prompts logits reward coefficient q / INR prompts ^ 2) * (gap n h prompts logits reward q - entropy_bias n h prompts logits reward coefficient q) <= square_of_soft_gradient n h prompts logits reward coefficient.

Definition witness : Prop :=
  exists (n h prompts : nat) (logits : nat -> state -> nat -> R) (reward : nat -> state -> R) (coefficient : R),
  (2 <= n)%nat /\
  (1 <= h)%nat /\
  (1 <= prompts)%nat /\
  0 < coefficient.

Definition square_of_soft_gradient_defined (n : nat) (h : nat) (prompts : nat) (logits : nat -> state -> nat -> R) (reward : nat -> state -> R) (coefficient : R) : Prop :=
  INR prompts <> 0.

Definition soft_visits_defined (n : nat) (h : nat) (prompts : nat) (logits : nat -> state -> nat -> R) (reward : nat -> state -> R) (coefficient : R) (q : nat) (s : state) : Prop :=
  coefficient <> 0.

Definition soft_constant_defined (n : nat) (h : nat) (prompts : nat) (logits : nat -> state -> nat -> R) (reward : nat -> state -> R) (coefficient : R) (q : nat) : Prop :=
  (forall s, state_of n h s -> soft_visits_defined n h prompts logits reward coefficient q s) /\
  (forall s, state_of n h s -> soft_visits n h prompts logits reward coefficient q s <> 0).

Definition entropy_bias_defined (n : nat) (h : nat) (prompts : nat) (logits : nat -> state -> nat -> R) (reward : nat -> state -> R) (coefficient : R) (q : nat) : Prop :=
  0 < INR n /\
  0 < number_right n h prompts reward q.

Definition defined : Prop :=
  forall (n h prompts : nat) (logits : nat -> state -> nat -> R) (reward : nat -> state -> R) (coefficient : R),
  (2 <= n)%nat ->
  (1 <= h)%nat ->
  (1 <= prompts)%nat ->
  0 < coefficient ->
  square_of_soft_gradient_defined n h prompts logits reward coefficient /\
  (forall q, (q < prompts)%nat -> soft_constant_defined n h prompts logits reward coefficient q) /\
  INR prompts ^ 2 <> 0 /\
  (forall q, (q < prompts)%nat -> entropy_bias_defined n h prompts logits reward coefficient q).
