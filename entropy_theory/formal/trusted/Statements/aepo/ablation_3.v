(* Generated from the formula of the claim aepo.ablation-3 (AEPO, Section 6.2 and Eq. (3) (Table 3)). *)

From Coq Require Import Reals List Bool.
From Trusted Require Import Definitions.
Open Scope R_scope.

(** pi^T given that the action is one of the chosen; zero elsewhere. *)
Definition conditional_without_temperature (n : nat) (logits : vector) (chosen : mask) : vector :=
  fun a => (if chosen a then exp (logits a - largest_on n chosen logits) else 0) / sum n (fun b => if chosen b then exp (logits b - largest_on n chosen logits) else 0).

(** H(q), the entropy of the policy on the right answers: log sum e^{z - max z} + E_q[max z - z]. *)
Definition conditional_entropy (n : nat) (logits : vector) (correct : mask) : R :=
  ln (sum n (fun a => if correct a then exp (- (largest_on n correct logits - logits a)) else 0)) + mean n (conditional_without_temperature n logits correct) (fun a => largest_on n correct logits - logits a).

(** grad p = pi (1_{A*} - p): expected GRPO, and REINFORCE at T = 1, per unit weight. *)
Definition plain_step (n : nat) (logits : vector) (correct : mask) : vector :=
  fun a => softmax n logits a * (if correct a then total_on n (fun b => negb (correct b)) (softmax n logits) else - total_on n correct (softmax n logits)).

(** The step on samples of pi^T with advantages: pi^T (1_{A*} - P_T). *)
Definition centered_reward_step (n : nat) (logits : vector) (correct : mask) (temperature : R) : vector :=
  fun a => softmax n (tempered temperature logits) a * (if correct a then total_on n (fun b => negb (correct b)) (softmax n (tempered temperature logits)) else - total_on n correct (softmax n (tempered temperature logits))).

(** Logits after a step of GRPO and of advantages on samples of pi^T. *)
Definition after_advantage_step (n : nat) (logits : vector) (correct : mask) (temperature : R) (grpo_weight : R) (advantage_weight : R) (learning_rate : R) : vector :=
  fun a => logits a + learning_rate * (grpo_weight * plain_step n logits correct a + advantage_weight * centered_reward_step n logits correct temperature a).

(** How many actions a set has. *)
Definition count (n : nat) (logits : vector) (chosen : mask) : R :=
  total_on n chosen (fun a => 1).

(** Phi: mean logit of the correct actions minus the largest wrong one. *)
Definition gap (n : nat) (logits : vector) (correct : mask) : R :=
  total_on n correct logits / count n logits correct - largest_on n (fun a => negb (correct a)) logits.

Definition statement : Prop :=
  forall (n : nat) (logits : vector) (correct : mask) (temperature : R) (learning_rate : R) (grpo_weight : R) (advantage_weight : R),
  (2 <= n)%nat ->
  nonempty n correct ->
  0 < temperature ->
  0 < learning_rate ->
  0 < grpo_weight ->
  0 < advantage_weight ->
  (~ (forall a, (a < n)%nat -> correct a = true)) ->
  (conditional_entropy n (after_advantage_step n logits correct temperature grpo_weight advantage_weight learning_rate) correct <= conditional_entropy n logits correct /\
  (forall a, (a < n)%nat -> forall b, (b < n)%nat -> 0 <= (if andb (correct a) (correct b) then (logits a - logits b) * (after_advantage_step n logits correct temperature grpo_weight advantage_weight learning_rate a - logits a - (after_advantage_step n logits correct temperature grpo_weight advantage_weight learning_rate b - logits b)) else 0)) /\
  gap n logits correct <= gap n (after_advantage_step n logits correct temperature grpo_weight advantage_weight learning_rate) correct) /\
  (forall lowest : R, (0 < lowest) -> (forall highest : R, (forall temperatures : nat -> R, (forall k : nat, (lowest <= temperatures k) /\ (temperatures k <= highest)) -> (forall grpo_weights : nat -> R, (forall k : nat, 0 <= grpo_weights k) -> (forall weights : nat -> R, (forall k : nat, lowest <= weights k) -> ((forall k : nat, conditional_entropy n (after_advantage_step n (run (fun j z => (after_advantage_step n z correct (temperatures j) (grpo_weights j) (weights j) learning_rate)) logits k) correct (temperatures k) (grpo_weights k) (weights k) learning_rate) correct <= conditional_entropy n (run (fun j z => (after_advantage_step n z correct (temperatures j) (grpo_weights j) (weights j) learning_rate)) logits k) correct) /\ (tends_to (fun k => entropy n (run (fun j z => (after_advantage_step n z correct (temperatures j) (grpo_weights j) (weights j) learning_rate)) logits k)) (ln (count n logits (fun a => andb (correct a) (negb (less (logits a) (largest_on n correct logits))))))))))))).

Definition witness : Prop :=
  exists (n : nat) (logits : vector) (correct : mask) (temperature : R) (learning_rate : R) (grpo_weight : R) (advantage_weight : R),
  (2 <= n)%nat /\
  nonempty n correct /\
  0 < temperature /\
  0 < learning_rate /\
  0 < grpo_weight /\
  0 < advantage_weight /\
  (~ (forall a, (a < n)%nat -> correct a = true)).

Definition witness_1 : Prop :=
  exists (n : nat) (logits : vector) (correct : mask) (temperature : R) (learning_rate : R) (grpo_weight : R) (advantage_weight : R),
  (2 <= n)%nat /\
  nonempty n correct /\
  0 < temperature /\
  0 < learning_rate /\
  0 < grpo_weight /\
  0 < advantage_weight /\
  (~ (forall a, (a < n)%nat -> correct a = true)) /\
  (exists lowest : R, (0 < lowest) /\ (exists highest : R, (exists temperatures : nat -> R, (forall k : nat, (lowest <= temperatures k) /\ (temperatures k <= highest)) /\ (exists grpo_weights : nat -> R, (forall k : nat, 0 <= grpo_weights k) /\ (exists weights : nat -> R, (forall k : nat, lowest <= weights k)))))).

Definition conditional_without_temperature_defined (n : nat) (logits : vector) (chosen : mask) (a : nat) : Prop :=
  sum n (fun b => if chosen b then exp (logits b - largest_on n chosen logits) else 0) <> 0.

Definition conditional_entropy_defined (n : nat) (logits : vector) (correct : mask) : Prop :=
  0 < sum n (fun a => if correct a then exp (- (largest_on n correct logits - logits a)) else 0) /\
  (forall a, (a < n)%nat -> conditional_without_temperature_defined n logits correct a).

Definition centered_reward_step_defined (n : nat) (logits : vector) (correct : mask) (temperature : R) (a : nat) : Prop :=
  temperature <> 0.

Definition after_advantage_step_defined (n : nat) (logits : vector) (correct : mask) (temperature : R) (grpo_weight : R) (advantage_weight : R) (learning_rate : R) (a : nat) : Prop :=
  centered_reward_step_defined n logits correct temperature a.

Definition gap_defined (n : nat) (logits : vector) (correct : mask) : Prop :=
  count n logits correct <> 0.

Definition defined : Prop :=
  forall (n : nat) (logits : vector) (correct : mask) (temperature : R) (learning_rate : R) (grpo_weight : R) (advantage_weight : R),
  (2 <= n)%nat ->
  nonempty n correct ->
  0 < temperature ->
  0 < learning_rate ->
  0 < grpo_weight ->
  0 < advantage_weight ->
  (~ (forall a, (a < n)%nat -> correct a = true)) ->
  conditional_entropy_defined n logits correct /\
  (forall a, (a < n)%nat -> after_advantage_step_defined n logits correct temperature grpo_weight advantage_weight learning_rate a) /\
  conditional_entropy_defined n (after_advantage_step n logits correct temperature grpo_weight advantage_weight learning_rate) correct /\
  (forall a, (a < n)%nat -> forall b, (b < n)%nat -> ((correct a = true) /\ (correct b = true)) -> after_advantage_step_defined n logits correct temperature grpo_weight advantage_weight learning_rate a) /\
  (forall a, (a < n)%nat -> forall b, (b < n)%nat -> ((correct a = true) /\ (correct b = true)) -> after_advantage_step_defined n logits correct temperature grpo_weight advantage_weight learning_rate b) /\
  gap_defined n (after_advantage_step n logits correct temperature grpo_weight advantage_weight learning_rate) correct /\
  gap_defined n logits correct /\
  (forall lowest : R, (0 < lowest) -> forall highest : R, forall temperatures : nat -> R, (forall k : nat, (lowest <= temperatures k) /\ (temperatures k <= highest)) -> forall grpo_weights : nat -> R, (forall k : nat, 0 <= grpo_weights k) -> forall weights : nat -> R, (forall k : nat, lowest <= weights k) -> forall j : nat, forall z : vector, forall c, (c < n)%nat -> after_advantage_step_defined n z correct (temperatures j) (grpo_weights j) (weights j) learning_rate c) /\
  (forall lowest : R, (0 < lowest) -> forall highest : R, forall temperatures : nat -> R, (forall k : nat, (lowest <= temperatures k) /\ (temperatures k <= highest)) -> forall grpo_weights : nat -> R, (forall k : nat, 0 <= grpo_weights k) -> forall weights : nat -> R, (forall k : nat, lowest <= weights k) -> forall k : nat, forall a, (a < n)%nat -> after_advantage_step_defined n (run (fun j z => (after_advantage_step n z correct (temperatures j) (grpo_weights j) (weights j) learning_rate)) logits k) correct (temperatures k) (grpo_weights k) (weights k) learning_rate a) /\
  (forall lowest : R, (0 < lowest) -> forall highest : R, forall temperatures : nat -> R, (forall k : nat, (lowest <= temperatures k) /\ (temperatures k <= highest)) -> forall grpo_weights : nat -> R, (forall k : nat, 0 <= grpo_weights k) -> forall weights : nat -> R, (forall k : nat, lowest <= weights k) -> forall k : nat, conditional_entropy_defined n (after_advantage_step n (run (fun j z => (after_advantage_step n z correct (temperatures j) (grpo_weights j) (weights j) learning_rate)) logits k) correct (temperatures k) (grpo_weights k) (weights k) learning_rate) correct) /\
  (forall lowest : R, (0 < lowest) -> forall highest : R, forall temperatures : nat -> R, (forall k : nat, (lowest <= temperatures k) /\ (temperatures k <= highest)) -> forall grpo_weights : nat -> R, (forall k : nat, 0 <= grpo_weights k) -> forall weights : nat -> R, (forall k : nat, lowest <= weights k) -> forall j : nat, forall z : vector, forall b, (b < n)%nat -> after_advantage_step_defined n z correct (temperatures j) (grpo_weights j) (weights j) learning_rate b) /\
  (forall lowest : R, (0 < lowest) -> forall highest : R, forall temperatures : nat -> R, (forall k : nat, (lowest <= temperatures k) /\ (temperatures k <= highest)) -> forall grpo_weights : nat -> R, (forall k : nat, 0 <= grpo_weights k) -> forall weights : nat -> R, (forall k : nat, lowest <= weights k) -> forall k : nat, conditional_entropy_defined n (run (fun j z => (after_advantage_step n z correct (temperatures j) (grpo_weights j) (weights j) learning_rate)) logits k) correct) /\
  (forall lowest : R, (0 < lowest) -> forall highest : R, forall temperatures : nat -> R, (forall k : nat, (lowest <= temperatures k) /\ (temperatures k <= highest)) -> forall grpo_weights : nat -> R, (forall k : nat, 0 <= grpo_weights k) -> forall weights : nat -> R, (forall k : nat, lowest <= weights k) -> (forall k : nat, conditional_entropy n (after_advantage_step n (run (fun j z => (after_advantage_step n z correct (temperatures j) (grpo_weights j) (weights j) learning_rate)) logits k) correct (temperatures k) (grpo_weights k) (weights k) learning_rate) correct <= conditional_entropy n (run (fun j z => (after_advantage_step n z correct (temperatures j) (grpo_weights j) (weights j) learning_rate)) logits k) correct) -> forall j : nat, forall z : vector, forall b, (b < n)%nat -> after_advantage_step_defined n z correct (temperatures j) (grpo_weights j) (weights j) learning_rate b) /\
  (forall lowest : R, (0 < lowest) -> forall highest : R, forall temperatures : nat -> R, (forall k : nat, (lowest <= temperatures k) /\ (temperatures k <= highest)) -> forall grpo_weights : nat -> R, (forall k : nat, 0 <= grpo_weights k) -> forall weights : nat -> R, (forall k : nat, lowest <= weights k) -> (forall k : nat, conditional_entropy n (after_advantage_step n (run (fun j z => (after_advantage_step n z correct (temperatures j) (grpo_weights j) (weights j) learning_rate)) logits k) correct (temperatures k) (grpo_weights k) (weights k) learning_rate) correct <= conditional_entropy n (run (fun j z => (after_advantage_step n z correct (temperatures j) (grpo_weights j) (weights j) learning_rate)) logits k) correct) -> 0 < count n logits (fun a => andb (correct a) (negb (less (logits a) (largest_on n correct logits))))).
