(** Extension of AEPO, Theorem 4.3, and the Entropy Mechanism, Theorem 1, to shared parameters: when the
    sign that a table of logits gives to the entropy's change survives in a network.

    The logits of m states are differentiable functions of d parameters, with Jacobian J; the parameters
    make a step along J^T g, where g is the gradient of an objective (or any update) in the logits. With
    the kernel K = J J^T, and G the gradient of the weighted entropy of the states in the logits, the
    entropy's rate is <G, K g>. In a table it is c <G, g>. If |(K - c I) x| <= k |x| for all x, the two
    differ by at most k |G| |g|; so where that is below c |<G, g>|, they have the same sign. *)

From Coq Require Import Reals Lra Lia.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics Gradients Kernels TabularGradients.
From Trusted.Statements.extension Require kernel_sign.
Open Scope R_scope.

Theorem any_parametrization :
  forall (d m n : nat) (z : vector -> table) (theta : vector) (jacobian : nat -> table)
    (weight : vector) (g : table) (c k : R),
  (1 <= n)%nat ->
  (forall s a, (s < m)%nat -> (a < n)%nat -> has_gradient d (fun x => z x s a) theta (jacobian s a)) ->
  let K := kernel d jacobian in
  (forall x, table_norm m n (fun s a => kernel_times m n K x s a - c * x s a) <= k * table_norm m n x) ->
  let G := fun s a => weight s * entropy_gradient n (z theta s) a in
  let rate := inner m n G (kernel_times m n K g) in
  let tabular := inner m n G g in
  derivative (fun t => sum m (fun s => weight s
      * entropy n (z (fun i => theta i + t * pulled_back m n jacobian g i) s))) 0 rate
  /\ Rabs (rate - c * tabular) <= k * table_norm m n G * table_norm m n g
  /\ (k * table_norm m n G * table_norm m n g < c * Rabs tabular -> 0 < rate * tabular).
Proof.
  intros d m n z theta jacobian weight g c k some differentiable K close G rate tabular.
  pose proof (kernel_inner_bound m n K c k G g (close g)) as bound.
  fold rate tabular in bound.
  split; [|split; [exact bound|]].
  - apply kernel_entropy_rate; assumption.
  - intros small; apply (Rle_lt_trans _ _ _ bound) in small.
    (* c and the two rates have the same sign, as rate lies within c |tabular| of c tabular. *)
    pose proof (Rabs_pos (rate - c * tabular)).
    pose proof (Rle_abs (rate - c * tabular)) as above.
    pose proof (Rle_abs (- (rate - c * tabular))) as below; rewrite Rabs_Ropp in below.
    destruct (Rtotal_order tabular 0) as [negative|[zero|positive]].
    + rewrite (Rabs_left tabular) in small by assumption.
      assert (rate < 0) by lra.
      rewrite <- Rmult_opp_opp; apply Rmult_lt_0_compat; lra.
    + rewrite (Rabs_right tabular) in small by lra; rewrite zero in *; lra.
    + rewrite (Rabs_pos_eq tabular) in small by lra.
      apply Rmult_lt_0_compat; lra.
Qed.

(** The statement as generated: any matrix in the kernel's place, with what it does to this g alone, and any
    curve of logits that starts with the velocity K g. *)
Theorem proved : Statements.extension.kernel_sign.statement.
Proof.
  unfold Statements.extension.kernel_sign.statement.
  intros n m logits K g c at_least_two _ positive close.
  assert (0 < n)%nat as some by lia.
  set (moves := Statements.extension.kernel_sign.kernel_times n m K g) in *.
  split.
  - set (G := fun q a => entropy_gradient n (logits q) a) in *.
    unfold Statements.extension.kernel_sign.inner in *.
    pose proof (cauchy_schwarz_states m n (fun q a => moves q a - c * g q a) G) as bound.
    cbv beta in bound.
    replace (sum m (fun q => sum n (fun a => (moves q a - c * g q a) * G q a)))
      with (sum m (fun q => sum n (fun a => G q a * moves q a))
            - c * sum m (fun q => sum n (fun a => G q a * g q a))) in bound.
    + apply (Rle_lt_trans _ _ _ bound) in close.
      set (rate := sum m (fun q => sum n (fun a => G q a * moves q a))) in *.
      set (tabular := sum m (fun q => sum n (fun a => G q a * g q a))) in *.
      (* rate^2 < 2 c rate tabular. *)
      assert (0 < 2 * c * (rate * tabular)) by (pose proof (Rle_0_sqr rate); unfold Rsqr in *; nra).
      apply Rmult_lt_reg_l with (2 * c); lra.
    + rewrite <- sum_scal, <- sum_minus; apply sum_ext; intros q _.
      rewrite <- sum_scal, <- sum_minus; apply sum_ext; intros; ring.
  - intros path starts; apply is_derive_Reals.
    apply (is_derive_sum m (fun t q => entropy n (path t q))
             (fun q => sum n (fun a => entropy_gradient n (path 0 q) a * moves q a))).
    intros q inside; rewrite <- entropy_rate_gradient by exact some.
    apply (is_derive_entropy n (fun t => path t q) (moves q) 0 some).
    intros a a_inside; apply is_derive_Reals, starts; assumption.
Qed.

From PolicyEntropy.library Require Import Witnesses.

(** A kernel that leaves every step as it is, and a step of the first logit. *)
Definition alone : nat -> nat -> nat -> nat -> R := fun _ a _ b => if Nat.eqb a b then 1 else 0.
Definition of_the_first : nat -> nat -> R := fun _ a => if Nat.eqb a 0 then 1 else 0.

Theorem witness : Statements.extension.kernel_sign.witness.
Proof.
  exists 2%nat, 1%nat, (fun _ => one_to_two), alone, of_the_first, 1; do 3 (split; [witnessed|]).
  unfold Statements.extension.kernel_sign.inner, Statements.extension.kernel_sign.kernel_times, alone, of_the_first; simpl.
  rewrite !entropy_gradient_eq by lia; numbers.
Qed.

Theorem witness_1 : Statements.extension.kernel_sign.witness_1.
Proof.
  exists 2%nat, 1%nat, (fun _ => one_to_two), alone, of_the_first, 1; do 3 (split; [witnessed|]); split.
  - unfold Statements.extension.kernel_sign.inner, Statements.extension.kernel_sign.kernel_times, alone, of_the_first; simpl.
    rewrite !entropy_gradient_eq by lia; numbers.
  - exists (fun t q a => t * Statements.extension.kernel_sign.kernel_times 2 1 alone of_the_first q a); intros q _ a _.
    apply is_derive_Reals; auto_derive; [trivial|ring].
Qed.

From PolicyEntropy.library Require Import ConditionsMet.
From Trusted.Theorems.extension Require kernel_sign.
From Trusted.Conditions.extension Require kernel_sign.

Theorem any_parametrization_witness : Conditions.extension.kernel_sign.any_parametrization_witness.
Proof.
  exists 2%nat, 1%nat, 2%nat, (fun x _ => x), one_to_two, (fun _ a i => if Nat.eqb a i then 1 else 0).
  exists (fun _ => 1), (fun _ a => match a with 0%nat => 1 | _ => 0 end), 1, 0.
  split; [lia|]; split; [|cbv zeta; split].
  - intros s a _ inside e positive; exists 1; split; [lra|]; intros y _.
    match goal with |- Rabs ?x <= _ => replace x with 0 end.
    + rewrite Rabs_R0; apply Rmult_le_pos; [lra|apply sum_nonneg; intros; apply Rabs_pos].
    + destruct a as [|[|]]; [| |lia]; simpl; ring.
  - intros x; unfold Theorems.extension.kernel_sign.table_norm at 1, Theorems.extension.kernel_sign.inner.
    match goal with |- sqrt ?x <= _ => replace x with 0 end; [rewrite sqrt_0; lra|].
    unfold Theorems.extension.kernel_sign.total_table, Theorems.extension.kernel_sign.kernel_times, Theorems.extension.kernel_sign.total_table, Theorems.extension.kernel_sign.kernel; simpl; ring.
  - unfold Theorems.extension.kernel_sign.inner, Theorems.extension.kernel_sign.total_table; simpl sum.
    rewrite !entropy_gradient_eq by lia; rewrite !Rmult_0_l.
    match goal with |- 0 < 1 * Rabs ?x => assert (0 < x) as above by numbers; rewrite Rabs_right; lra end.
Qed.

Theorem any_parametrization_defined : Conditions.extension.kernel_sign.any_parametrization_defined.
Proof.
  red; intros; assert (forall x, Conditions.extension.kernel_sign.table_norm_defined m n x) as norms.
  { intros x; red; unfold Theorems.extension.kernel_sign.inner, Theorems.extension.kernel_sign.total_table.
    apply sum_nonneg; intros; apply sum_nonneg; intros; apply Rle_0_sqr. }
  split; [intros; split; apply norms|intros; split; apply norms].
Qed.
