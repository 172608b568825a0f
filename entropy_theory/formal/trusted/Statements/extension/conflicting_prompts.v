(* Generated from the formula of the claim extension.conflicting-prompts (Extension of AEPO and Entropy Mechanism to prompts that share parameters). *)

From Coq Require Import Reals List Bool.
From Trusted Require Import Definitions.
Open Scope R_scope.

(** The probability of the first of two answers whose logits are this and 0, sigma. *)
Definition chance (logit : R) : R :=
  1 / (1 + exp (- logit)).

(** dJ/dtheta, as sigma' = sigma (1 - sigma). *)
Definition reward_slope (theta : R) (offset : R) : R :=
  (chance theta * chance (- theta) - chance (offset - theta) * chance (theta - offset)) / 2.

(** The parameter after an exact step of policy gradient. *)
Definition after_shared_step (theta : R) (offset : R) (learning_rate : R) : R :=
  theta + learning_rate * reward_slope theta offset.

(** J: the mean reward of the two prompts. *)
Definition mean_chance (theta : R) (offset : R) : R :=
  (chance theta + chance (offset - theta)) / 2.

Definition statement : Prop :=
  forall (theta : R) (offset : R) (learning_rate : R),
  0 < offset ->
  0 < learning_rate ->
  learning_rate <= 4 ->
  (0 <= (theta - offset / 2) * (theta - offset / 2 - (after_shared_step theta offset learning_rate - offset / 2)) /\
  0 <= (theta - offset / 2) * (after_shared_step theta offset learning_rate - offset / 2)) /\
  derivative (fun t => mean_chance t offset) (theta) (reward_slope theta offset) /\
  mean_chance theta offset <= mean_chance (offset / 2) offset /\
  mean_chance (offset / 2) offset = chance (offset / 2) /\
  ((chance (offset / 2) < 1) /\ (0 < binary_entropy (chance (offset / 2)))) /\
  (forall rates : nat -> R, (forall k : nat, (0 <= rates k) /\ (rates k <= 4)) -> ((forall bound : R, (~ (forall k : nat, run (fun j c => (c + rates j)) 0 k <= bound))) -> (((tends_to (fun k => run (fun j c => (after_shared_step c offset (rates j))) theta k) (offset / 2)) /\ (tends_to (fun k => mean_chance (run (fun j c => (after_shared_step c offset (rates j))) theta k) offset) (chance (offset / 2)))) /\ (tends_to (fun k => binary_entropy (chance (run (fun j c => (after_shared_step c offset (rates j))) theta k))) (binary_entropy (chance (offset / 2))))) /\ (tends_to (fun k => binary_entropy (chance (offset - run (fun j c => (after_shared_step c offset (rates j))) theta k))) (binary_entropy (chance (offset / 2)))))).

Definition witness : Prop :=
  exists (theta : R) (offset : R) (learning_rate : R),
  0 < offset /\
  0 < learning_rate /\
  learning_rate <= 4.

Definition witness_1 : Prop :=
  exists (theta : R) (offset : R) (learning_rate : R),
  0 < offset /\
  0 < learning_rate /\
  learning_rate <= 4 /\
  (exists rates : nat -> R, (forall k : nat, (0 <= rates k) /\ (rates k <= 4)) /\ (forall bound : R, (~ (forall k : nat, run (fun j c => (c + rates j)) 0 k <= bound)))).

Definition chance_defined (logit : R) : Prop :=
  1 + exp (- logit) <> 0.

Definition reward_slope_defined (theta : R) (offset : R) : Prop :=
  chance_defined theta /\
  chance_defined (- theta) /\
  chance_defined (offset - theta) /\
  chance_defined (theta - offset).

Definition after_shared_step_defined (theta : R) (offset : R) (learning_rate : R) : Prop :=
  reward_slope_defined theta offset.

Definition mean_chance_defined (theta : R) (offset : R) : Prop :=
  chance_defined theta /\
  chance_defined (offset - theta).

Definition defined : Prop :=
  forall (theta : R) (offset : R) (learning_rate : R),
  0 < offset ->
  0 < learning_rate ->
  learning_rate <= 4 ->
  after_shared_step_defined theta offset learning_rate /\
  (forall t : R, t = theta -> mean_chance_defined t offset) /\
  reward_slope_defined theta offset /\
  mean_chance_defined theta offset /\
  mean_chance_defined (offset / 2) offset /\
  chance_defined (offset / 2) /\
  ((chance (offset / 2) < 1) -> chance_defined (offset / 2)) /\
  ((chance (offset / 2) < 1) -> 0 < chance (offset / 2)) /\
  ((chance (offset / 2) < 1) -> chance (offset / 2) < 1) /\
  (forall rates : nat -> R, (forall k : nat, (0 <= rates k) /\ (rates k <= 4)) -> (forall bound : R, (~ (forall k : nat, run (fun j c => (c + rates j)) 0 k <= bound))) -> forall j : nat, forall c : R, after_shared_step_defined c offset (rates j)) /\
  (forall rates : nat -> R, (forall k : nat, (0 <= rates k) /\ (rates k <= 4)) -> (forall bound : R, (~ (forall k : nat, run (fun j c => (c + rates j)) 0 k <= bound))) -> (tends_to (fun k => run (fun j c => (after_shared_step c offset (rates j))) theta k) (offset / 2)) -> forall j : nat, forall c : R, after_shared_step_defined c offset (rates j)) /\
  (forall rates : nat -> R, (forall k : nat, (0 <= rates k) /\ (rates k <= 4)) -> (forall bound : R, (~ (forall k : nat, run (fun j c => (c + rates j)) 0 k <= bound))) -> (tends_to (fun k => run (fun j c => (after_shared_step c offset (rates j))) theta k) (offset / 2)) -> forall k : nat, mean_chance_defined (run (fun j c => (after_shared_step c offset (rates j))) theta k) offset) /\
  (forall rates : nat -> R, (forall k : nat, (0 <= rates k) /\ (rates k <= 4)) -> (forall bound : R, (~ (forall k : nat, run (fun j c => (c + rates j)) 0 k <= bound))) -> (tends_to (fun k => run (fun j c => (after_shared_step c offset (rates j))) theta k) (offset / 2)) -> chance_defined (offset / 2)) /\
  (forall rates : nat -> R, (forall k : nat, (0 <= rates k) /\ (rates k <= 4)) -> (forall bound : R, (~ (forall k : nat, run (fun j c => (c + rates j)) 0 k <= bound))) -> ((tends_to (fun k => run (fun j c => (after_shared_step c offset (rates j))) theta k) (offset / 2)) /\ (tends_to (fun k => mean_chance (run (fun j c => (after_shared_step c offset (rates j))) theta k) offset) (chance (offset / 2)))) -> forall j : nat, forall c : R, after_shared_step_defined c offset (rates j)) /\
  (forall rates : nat -> R, (forall k : nat, (0 <= rates k) /\ (rates k <= 4)) -> (forall bound : R, (~ (forall k : nat, run (fun j c => (c + rates j)) 0 k <= bound))) -> ((tends_to (fun k => run (fun j c => (after_shared_step c offset (rates j))) theta k) (offset / 2)) /\ (tends_to (fun k => mean_chance (run (fun j c => (after_shared_step c offset (rates j))) theta k) offset) (chance (offset / 2)))) -> forall k : nat, chance_defined (run (fun j c => (after_shared_step c offset (rates j))) theta k)) /\
  (forall rates : nat -> R, (forall k : nat, (0 <= rates k) /\ (rates k <= 4)) -> (forall bound : R, (~ (forall k : nat, run (fun j c => (c + rates j)) 0 k <= bound))) -> ((tends_to (fun k => run (fun j c => (after_shared_step c offset (rates j))) theta k) (offset / 2)) /\ (tends_to (fun k => mean_chance (run (fun j c => (after_shared_step c offset (rates j))) theta k) offset) (chance (offset / 2)))) -> forall k : nat, 0 < chance (run (fun j c => (after_shared_step c offset (rates j))) theta k)) /\
  (forall rates : nat -> R, (forall k : nat, (0 <= rates k) /\ (rates k <= 4)) -> (forall bound : R, (~ (forall k : nat, run (fun j c => (c + rates j)) 0 k <= bound))) -> ((tends_to (fun k => run (fun j c => (after_shared_step c offset (rates j))) theta k) (offset / 2)) /\ (tends_to (fun k => mean_chance (run (fun j c => (after_shared_step c offset (rates j))) theta k) offset) (chance (offset / 2)))) -> forall k : nat, chance (run (fun j c => (after_shared_step c offset (rates j))) theta k) < 1) /\
  (forall rates : nat -> R, (forall k : nat, (0 <= rates k) /\ (rates k <= 4)) -> (forall bound : R, (~ (forall k : nat, run (fun j c => (c + rates j)) 0 k <= bound))) -> ((tends_to (fun k => run (fun j c => (after_shared_step c offset (rates j))) theta k) (offset / 2)) /\ (tends_to (fun k => mean_chance (run (fun j c => (after_shared_step c offset (rates j))) theta k) offset) (chance (offset / 2)))) -> chance_defined (offset / 2)) /\
  (forall rates : nat -> R, (forall k : nat, (0 <= rates k) /\ (rates k <= 4)) -> (forall bound : R, (~ (forall k : nat, run (fun j c => (c + rates j)) 0 k <= bound))) -> ((tends_to (fun k => run (fun j c => (after_shared_step c offset (rates j))) theta k) (offset / 2)) /\ (tends_to (fun k => mean_chance (run (fun j c => (after_shared_step c offset (rates j))) theta k) offset) (chance (offset / 2)))) -> 0 < chance (offset / 2)) /\
  (forall rates : nat -> R, (forall k : nat, (0 <= rates k) /\ (rates k <= 4)) -> (forall bound : R, (~ (forall k : nat, run (fun j c => (c + rates j)) 0 k <= bound))) -> ((tends_to (fun k => run (fun j c => (after_shared_step c offset (rates j))) theta k) (offset / 2)) /\ (tends_to (fun k => mean_chance (run (fun j c => (after_shared_step c offset (rates j))) theta k) offset) (chance (offset / 2)))) -> chance (offset / 2) < 1) /\
  (forall rates : nat -> R, (forall k : nat, (0 <= rates k) /\ (rates k <= 4)) -> (forall bound : R, (~ (forall k : nat, run (fun j c => (c + rates j)) 0 k <= bound))) -> (((tends_to (fun k => run (fun j c => (after_shared_step c offset (rates j))) theta k) (offset / 2)) /\ (tends_to (fun k => mean_chance (run (fun j c => (after_shared_step c offset (rates j))) theta k) offset) (chance (offset / 2)))) /\ (tends_to (fun k => binary_entropy (chance (run (fun j c => (after_shared_step c offset (rates j))) theta k))) (binary_entropy (chance (offset / 2))))) -> forall j : nat, forall c : R, after_shared_step_defined c offset (rates j)) /\
  (forall rates : nat -> R, (forall k : nat, (0 <= rates k) /\ (rates k <= 4)) -> (forall bound : R, (~ (forall k : nat, run (fun j c => (c + rates j)) 0 k <= bound))) -> (((tends_to (fun k => run (fun j c => (after_shared_step c offset (rates j))) theta k) (offset / 2)) /\ (tends_to (fun k => mean_chance (run (fun j c => (after_shared_step c offset (rates j))) theta k) offset) (chance (offset / 2)))) /\ (tends_to (fun k => binary_entropy (chance (run (fun j c => (after_shared_step c offset (rates j))) theta k))) (binary_entropy (chance (offset / 2))))) -> forall k : nat, chance_defined (offset - run (fun j c => (after_shared_step c offset (rates j))) theta k)) /\
  (forall rates : nat -> R, (forall k : nat, (0 <= rates k) /\ (rates k <= 4)) -> (forall bound : R, (~ (forall k : nat, run (fun j c => (c + rates j)) 0 k <= bound))) -> (((tends_to (fun k => run (fun j c => (after_shared_step c offset (rates j))) theta k) (offset / 2)) /\ (tends_to (fun k => mean_chance (run (fun j c => (after_shared_step c offset (rates j))) theta k) offset) (chance (offset / 2)))) /\ (tends_to (fun k => binary_entropy (chance (run (fun j c => (after_shared_step c offset (rates j))) theta k))) (binary_entropy (chance (offset / 2))))) -> forall k : nat, 0 < chance (offset - run (fun j c => (after_shared_step c offset (rates j))) theta k)) /\
  (forall rates : nat -> R, (forall k : nat, (0 <= rates k) /\ (rates k <= 4)) -> (forall bound : R, (~ (forall k : nat, run (fun j c => (c + rates j)) 0 k <= bound))) -> (((tends_to (fun k => run (fun j c => (after_shared_step c offset (rates j))) theta k) (offset / 2)) /\ (tends_to (fun k => mean_chance (run (fun j c => (after_shared_step c offset (rates j))) theta k) offset) (chance (offset / 2)))) /\ (tends_to (fun k => binary_entropy (chance (run (fun j c => (after_shared_step c offset (rates j))) theta k))) (binary_entropy (chance (offset / 2))))) -> forall k : nat, chance (offset - run (fun j c => (after_shared_step c offset (rates j))) theta k) < 1) /\
  (forall rates : nat -> R, (forall k : nat, (0 <= rates k) /\ (rates k <= 4)) -> (forall bound : R, (~ (forall k : nat, run (fun j c => (c + rates j)) 0 k <= bound))) -> (((tends_to (fun k => run (fun j c => (after_shared_step c offset (rates j))) theta k) (offset / 2)) /\ (tends_to (fun k => mean_chance (run (fun j c => (after_shared_step c offset (rates j))) theta k) offset) (chance (offset / 2)))) /\ (tends_to (fun k => binary_entropy (chance (run (fun j c => (after_shared_step c offset (rates j))) theta k))) (binary_entropy (chance (offset / 2))))) -> chance_defined (offset / 2)) /\
  (forall rates : nat -> R, (forall k : nat, (0 <= rates k) /\ (rates k <= 4)) -> (forall bound : R, (~ (forall k : nat, run (fun j c => (c + rates j)) 0 k <= bound))) -> (((tends_to (fun k => run (fun j c => (after_shared_step c offset (rates j))) theta k) (offset / 2)) /\ (tends_to (fun k => mean_chance (run (fun j c => (after_shared_step c offset (rates j))) theta k) offset) (chance (offset / 2)))) /\ (tends_to (fun k => binary_entropy (chance (run (fun j c => (after_shared_step c offset (rates j))) theta k))) (binary_entropy (chance (offset / 2))))) -> 0 < chance (offset / 2)) /\
  (forall rates : nat -> R, (forall k : nat, (0 <= rates k) /\ (rates k <= 4)) -> (forall bound : R, (~ (forall k : nat, run (fun j c => (c + rates j)) 0 k <= bound))) -> (((tends_to (fun k => run (fun j c => (after_shared_step c offset (rates j))) theta k) (offset / 2)) /\ (tends_to (fun k => mean_chance (run (fun j c => (after_shared_step c offset (rates j))) theta k) offset) (chance (offset / 2)))) /\ (tends_to (fun k => binary_entropy (chance (run (fun j c => (after_shared_step c offset (rates j))) theta k))) (binary_entropy (chance (offset / 2))))) -> chance (offset / 2) < 1).
