(* Generated from the formula of the claim extension.shared-parameters-ascent (Extension of Entropy Mechanism and AEPO to prompts that share parameters). *)

From Coq Require Import Reals List Bool.
From Trusted Require Import Definitions.
Open Scope R_scope.

(** z + F theta: the logits at each prompt. *)
Definition shared_logits (n : nat) (prompts : nat) (parameters : nat) (logits : nat -> nat -> R) (features : nat -> nat -> nat -> R) (theta : nat -> R) : nat -> nat -> R :=
  fun q a => logits q a + sum parameters (fun m => features q a m * theta m).

(** J: the mean over prompts of the expected reward. *)
Definition mean_reward (n : nat) (prompts : nat) (parameters : nat) (logits : nat -> nat -> R) (features : nat -> nat -> nat -> R) (theta : nat -> R) (reward : nat -> nat -> R) : R :=
  sum prompts (fun q => mean n (softmax n (shared_logits n prompts parameters logits features theta q)) (reward q)) / INR prompts.

(** The gradient of J in the parameters: the mean over prompts of F^T (pi (r - V)). *)
Definition reward_gradient (n : nat) (prompts : nat) (parameters : nat) (logits : nat -> nat -> R) (features : nat -> nat -> nat -> R) (theta : nat -> R) (reward : nat -> nat -> R) : nat -> R :=
  fun m => sum prompts (fun q => sum n (fun a => features q a m * (softmax n (shared_logits n prompts parameters logits features theta q) a * centered n (softmax n (shared_logits n prompts parameters logits features theta q)) (reward q) a))) / INR prompts.

(** Parameters after an exact step of policy gradient. *)
Definition after_gradient_step (n : nat) (prompts : nat) (parameters : nat) (logits : nat -> nat -> R) (features : nat -> nat -> nat -> R) (theta : nat -> R) (reward : nat -> nat -> R) (learning_rate : R) : nat -> R :=
  fun m => theta m + learning_rate * reward_gradient n prompts parameters logits features theta reward m.

(** |x|^2. *)
Definition square (parameters : nat) (x : nat -> R) : R :=
  sum parameters (fun m => x m * x m).

Definition statement : Prop :=
  forall (n prompts parameters : nat) (logits : nat -> nat -> R) (features : nat -> nat -> nat -> R) (theta : nat -> R) (reward : nat -> nat -> R) (learning_rate : R),
  (2 <= n)%nat ->
  (1 <= prompts)%nat ->
  (1 <= parameters)%nat ->
  (forall q, (q < prompts)%nat -> forall a, (a < n)%nat -> 0 <= reward q a) ->
  (forall q, (q < prompts)%nat -> forall a, (a < n)%nat -> reward q a <= 1) ->
  0 < learning_rate ->
  (forall q, (q < prompts)%nat -> forall a, (a < n)%nat -> learning_rate * sum parameters (fun m => features q a m * features q a m) <= 1) ->
  learning_rate * square parameters (reward_gradient n prompts parameters logits features theta reward) / 2 <= mean_reward n prompts parameters logits features (after_gradient_step n prompts parameters logits features theta reward learning_rate) reward - mean_reward n prompts parameters logits features theta reward /\
  (forall direction : nat -> R, (derivative (fun t => mean_reward n prompts parameters logits features (fun m => theta m + t * direction m) reward) (0) (sum parameters (fun m => reward_gradient n prompts parameters logits features theta reward m * direction m)))) /\
  (forall rates : nat -> R, ((forall k : nat, 0 <= rates k) /\ (forall k : nat, forall q, (q < prompts)%nat -> forall a, (a < n)%nat -> rates k * sum parameters (fun m => features q a m * features q a m) <= 1)) -> (forall k : nat, mean_reward n prompts parameters logits features (run (fun j point => (after_gradient_step n prompts parameters logits features point reward (rates j))) theta k) reward + rates k / 2 * square parameters (reward_gradient n prompts parameters logits features (run (fun j point => (after_gradient_step n prompts parameters logits features point reward (rates j))) theta k) reward) <= mean_reward n prompts parameters logits features (run (fun j point => (after_gradient_step n prompts parameters logits features point reward (rates j))) theta (S k)) reward)) /\
  (forall rates : nat -> R, ((forall k : nat, 0 <= rates k) /\ (forall k : nat, forall q, (q < prompts)%nat -> forall a, (a < n)%nat -> rates k * sum parameters (fun m => features q a m * features q a m) <= 1)) -> ((forall bound : R, (~ (forall k : nat, run (fun j c => (c + rates j)) 0 k <= bound))) -> tends_to (fun k => square parameters (reward_gradient n prompts parameters logits features (run (fun j point => (after_gradient_step n prompts parameters logits features point reward (rates j))) theta k) reward)) (0))).

Definition witness : Prop :=
  exists (n prompts parameters : nat) (logits : nat -> nat -> R) (features : nat -> nat -> nat -> R) (theta : nat -> R) (reward : nat -> nat -> R) (learning_rate : R),
  (2 <= n)%nat /\
  (1 <= prompts)%nat /\
  (1 <= parameters)%nat /\
  (forall q, (q < prompts)%nat -> forall a, (a < n)%nat -> 0 <= reward q a) /\
  (forall q, (q < prompts)%nat -> forall a, (a < n)%nat -> reward q a <= 1) /\
  0 < learning_rate /\
  (forall q, (q < prompts)%nat -> forall a, (a < n)%nat -> learning_rate * sum parameters (fun m => features q a m * features q a m) <= 1).

Definition witness_1 : Prop :=
  exists (n prompts parameters : nat) (logits : nat -> nat -> R) (features : nat -> nat -> nat -> R) (theta : nat -> R) (reward : nat -> nat -> R) (learning_rate : R),
  (2 <= n)%nat /\
  (1 <= prompts)%nat /\
  (1 <= parameters)%nat /\
  (forall q, (q < prompts)%nat -> forall a, (a < n)%nat -> 0 <= reward q a) /\
  (forall q, (q < prompts)%nat -> forall a, (a < n)%nat -> reward q a <= 1) /\
  0 < learning_rate /\
  (forall q, (q < prompts)%nat -> forall a, (a < n)%nat -> learning_rate * sum parameters (fun m => features q a m * features q a m) <= 1) /\
  (exists rates : nat -> R, ((forall k : nat, 0 <= rates k) /\ (forall k : nat, forall q, (q < prompts)%nat -> forall a, (a < n)%nat -> rates k * sum parameters (fun m => features q a m * features q a m) <= 1))).

Definition witness_2 : Prop :=
  exists (n prompts parameters : nat) (logits : nat -> nat -> R) (features : nat -> nat -> nat -> R) (theta : nat -> R) (reward : nat -> nat -> R) (learning_rate : R),
  (2 <= n)%nat /\
  (1 <= prompts)%nat /\
  (1 <= parameters)%nat /\
  (forall q, (q < prompts)%nat -> forall a, (a < n)%nat -> 0 <= reward q a) /\
  (forall q, (q < prompts)%nat -> forall a, (a < n)%nat -> reward q a <= 1) /\
  0 < learning_rate /\
  (forall q, (q < prompts)%nat -> forall a, (a < n)%nat -> learning_rate * sum parameters (fun m => features q a m * features q a m) <= 1) /\
  (exists rates : nat -> R, ((forall k : nat, 0 <= rates k) /\ (forall k : nat, forall q, (q < prompts)%nat -> forall a, (a < n)%nat -> rates k * sum parameters (fun m => features q a m * features q a m) <= 1)) /\ (forall bound : R, (~ (forall k : nat, run (fun j c => (c + rates j)) 0 k <= bound)))).

Definition reward_gradient_defined (n : nat) (prompts : nat) (parameters : nat) (logits : nat -> nat -> R) (features : nat -> nat -> nat -> R) (theta : nat -> R) (reward : nat -> nat -> R) (m : nat) : Prop :=
  INR prompts <> 0.

Definition after_gradient_step_defined (n : nat) (prompts : nat) (parameters : nat) (logits : nat -> nat -> R) (features : nat -> nat -> nat -> R) (theta : nat -> R) (reward : nat -> nat -> R) (learning_rate : R) (m : nat) : Prop :=
  reward_gradient_defined n prompts parameters logits features theta reward m.

Definition mean_reward_defined (n : nat) (prompts : nat) (parameters : nat) (logits : nat -> nat -> R) (features : nat -> nat -> nat -> R) (theta : nat -> R) (reward : nat -> nat -> R) : Prop :=
  INR prompts <> 0.

Definition defined : Prop :=
  forall (n prompts parameters : nat) (logits : nat -> nat -> R) (features : nat -> nat -> nat -> R) (theta : nat -> R) (reward : nat -> nat -> R) (learning_rate : R),
  (2 <= n)%nat ->
  (1 <= prompts)%nat ->
  (1 <= parameters)%nat ->
  (forall q, (q < prompts)%nat -> forall a, (a < n)%nat -> 0 <= reward q a) ->
  (forall q, (q < prompts)%nat -> forall a, (a < n)%nat -> reward q a <= 1) ->
  0 < learning_rate ->
  (forall q, (q < prompts)%nat -> forall a, (a < n)%nat -> learning_rate * sum parameters (fun m => features q a m * features q a m) <= 1) ->
  (forall m, (m < parameters)%nat -> after_gradient_step_defined n prompts parameters logits features theta reward learning_rate m) /\
  mean_reward_defined n prompts parameters logits features (after_gradient_step n prompts parameters logits features theta reward learning_rate) reward /\
  mean_reward_defined n prompts parameters logits features theta reward /\
  (forall m, (m < parameters)%nat -> reward_gradient_defined n prompts parameters logits features theta reward m) /\
  (forall direction : nat -> R, forall t : R, t = 0 -> mean_reward_defined n prompts parameters logits features (fun m => theta m + t * direction m) reward) /\
  (forall rates : nat -> R, ((forall k : nat, 0 <= rates k) /\ (forall k : nat, forall q, (q < prompts)%nat -> forall a, (a < n)%nat -> rates k * sum parameters (fun m => features q a m * features q a m) <= 1)) -> forall j : nat, forall point : nat -> R, forall o, (o < parameters)%nat -> after_gradient_step_defined n prompts parameters logits features point reward (rates j) o) /\
  (forall rates : nat -> R, ((forall k : nat, 0 <= rates k) /\ (forall k : nat, forall q, (q < prompts)%nat -> forall a, (a < n)%nat -> rates k * sum parameters (fun m => features q a m * features q a m) <= 1)) -> forall k : nat, mean_reward_defined n prompts parameters logits features (run (fun j point => (after_gradient_step n prompts parameters logits features point reward (rates j))) theta k) reward) /\
  (forall rates : nat -> R, ((forall k : nat, 0 <= rates k) /\ (forall k : nat, forall q, (q < prompts)%nat -> forall a, (a < n)%nat -> rates k * sum parameters (fun m => features q a m * features q a m) <= 1)) -> forall j : nat, forall point : nat -> R, forall m1, (m1 < parameters)%nat -> after_gradient_step_defined n prompts parameters logits features point reward (rates j) m1) /\
  (forall rates : nat -> R, ((forall k : nat, 0 <= rates k) /\ (forall k : nat, forall q, (q < prompts)%nat -> forall a, (a < n)%nat -> rates k * sum parameters (fun m => features q a m * features q a m) <= 1)) -> forall k : nat, forall m, (m < parameters)%nat -> reward_gradient_defined n prompts parameters logits features (run (fun j point => (after_gradient_step n prompts parameters logits features point reward (rates j))) theta k) reward m) /\
  (forall rates : nat -> R, ((forall k : nat, 0 <= rates k) /\ (forall k : nat, forall q, (q < prompts)%nat -> forall a, (a < n)%nat -> rates k * sum parameters (fun m => features q a m * features q a m) <= 1)) -> forall k : nat, mean_reward_defined n prompts parameters logits features (run (fun j point => (after_gradient_step n prompts parameters logits features point reward (rates j))) theta (S k)) reward) /\
  (forall rates : nat -> R, ((forall k : nat, 0 <= rates k) /\ (forall k : nat, forall q, (q < prompts)%nat -> forall a, (a < n)%nat -> rates k * sum parameters (fun m => features q a m * features q a m) <= 1)) -> (forall bound : R, (~ (forall k : nat, run (fun j c => (c + rates j)) 0 k <= bound))) -> forall j : nat, forall point : nat -> R, forall m1, (m1 < parameters)%nat -> after_gradient_step_defined n prompts parameters logits features point reward (rates j) m1) /\
  (forall rates : nat -> R, ((forall k : nat, 0 <= rates k) /\ (forall k : nat, forall q, (q < prompts)%nat -> forall a, (a < n)%nat -> rates k * sum parameters (fun m => features q a m * features q a m) <= 1)) -> (forall bound : R, (~ (forall k : nat, run (fun j c => (c + rates j)) 0 k <= bound))) -> forall k : nat, forall m, (m < parameters)%nat -> reward_gradient_defined n prompts parameters logits features (run (fun j point => (after_gradient_step n prompts parameters logits features point reward (rates j))) theta k) reward m).
