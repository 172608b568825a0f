(* Generated from the formula of the claim extension.sharpened-stationarity (Extension of AEnt, Proposition 1 (II)). *)

From Coq Require Import Reals List Bool.
From Trusted Require Import Definitions.
Open Scope R_scope.

(** grad V, at each state and token: d(s) pi(a|s) (Q(s, a) - V(s)). *)
Definition value_gradient (n : nat) (h : nat) (prompts : nat) (logits : nat -> state -> nat -> R) (reward : nat -> state -> R) : nat -> state -> nat -> R :=
  fun q s a => probability n (logits q) s * softmax n (logits q s) a * (action_value n h (logits q) (edge_reward h (reward q)) s a - value_at n h (logits q) (edge_reward h (reward q)) s).

(** ||grad V(D)||_2^2, V(D) the mean over prompts. *)
Definition square_of_gradient (n : nat) (h : nat) (prompts : nat) (logits : nat -> state -> nat -> R) (reward : nat -> state -> R) : R :=
  sum prompts (fun q => sum_states n h (fun s => sum n (fun a => value_gradient n h prompts logits reward q s a / INR prompts * (value_gradient n h prompts logits reward q s a / INR prompts)))).

(** The right responses: those of the largest return. *)
Definition is_right (n : nat) (h : nat) (prompts : nat) (reward : nat -> state -> R) : nat -> state -> bool :=
  fun q y => equal (reward q y) (largest_responses n h (reward q)).

(** C(q): the probability of the likeliest right response. *)
Definition largest_right_probability (n : nat) (h : nat) (prompts : nat) (logits : nat -> state -> nat -> R) (reward : nat -> state -> R) : nat -> R :=
  fun q => largest_responses n h (fun y => if is_right n h prompts reward q y then probability n (logits q) y else 0).

(** V* - V = sum_y pi(y) (R* - R(y)). *)
Definition gap (n : nat) (h : nat) (prompts : nat) (logits : nat -> state -> nat -> R) (reward : nat -> state -> R) : nat -> R :=
  fun q => mean_responses n h (logits q) (fun y => largest_responses n h (reward q) - reward q y).

Definition statement : Prop :=
  forall (n h prompts : nat) (logits : nat -> state -> nat -> R) (reward : nat -> state -> R),
  (2 <= n)%nat ->
  (1 <= h)%nat ->
  (1 <= prompts)%nat ->
  (forall q, (q < prompts)%nat -> INR n * (largest_right_probability n h prompts logits reward q * gap n h prompts logits reward q) * (largest_right_probability n h prompts logits reward q * gap n h prompts logits reward q) <= INR prompts ^ 2 * INR h * (INR n - 1) * square_of_gradient n h prompts logits reward) /\
  (forall direction : nat -> state -> nat -> R, (derivative (fun t => sum prompts (fun q => mean_responses n h (fun s a => logits q s a + t * direction q s a) (reward q)) / INR prompts) (0) (sum prompts (fun q => sum_states n h (fun s => sum n (fun a => value_gradient n h prompts logits reward q s a / INR prompts * direction q s a)))))).

Definition witness : Prop :=
  exists (n h prompts : nat) (logits : nat -> state -> nat -> R) (reward : nat -> state -> R),
  (2 <= n)%nat /\
  (1 <= h)%nat /\
  (1 <= prompts)%nat.

Definition square_of_gradient_defined (n : nat) (h : nat) (prompts : nat) (logits : nat -> state -> nat -> R) (reward : nat -> state -> R) : Prop :=
  INR prompts <> 0.

Definition defined : Prop :=
  forall (n h prompts : nat) (logits : nat -> state -> nat -> R) (reward : nat -> state -> R),
  (2 <= n)%nat ->
  (1 <= h)%nat ->
  (1 <= prompts)%nat ->
  square_of_gradient_defined n h prompts logits reward /\
  INR prompts <> 0.
