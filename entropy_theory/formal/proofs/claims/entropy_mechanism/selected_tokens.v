(** Entropy Mechanism, Clip-Cov and KL-Cov: are the tokens with a large cross product
    K = (log pi - mean)(A - mean) the confident, correct ones? The opposite holds wherever the mean surprisal times
    the largest deviation of an advantage is below the threshold: then every selected token is unlikelier than
    average and has a below-average advantage. A batch has n tokens, with surprisals -log pi. *)

From Coq Require Import Reals Lra Lia List Bool.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics Comparisons Masks.
From Trusted.Statements.entropy_mechanism Require selected_tokens.
Open Scope R_scope.

Definition batch_mean (n : nat) (f : vector) : R := sum n f / INR n.
Definition deviation (n : nat) (f : vector) : vector := fun i => f i - batch_mean n f.
Definition cross_product (n : nat) (surprisal advantage : vector) : vector :=
  fun i => deviation n (fun j => - surprisal j) i * deviation n advantage i.

Lemma deviation_of_log n surprisal i :
  deviation n (fun j => - surprisal j) i = batch_mean n surprisal - surprisal i.
Proof. unfold deviation, batch_mean; rewrite sum_opp; unfold Rdiv; ring. Qed.

Lemma batch_mean_nonneg n f : (1 <= n)%nat -> (forall i, (i < n)%nat -> 0 <= f i) -> 0 <= batch_mean n f.
Proof.
  intros one nonneg; unfold batch_mean, Rdiv; apply Rmult_le_pos; [apply sum_nonneg, nonneg|].
  apply Rlt_le, Rinv_0_lt_compat, lt_0_INR; lia.
Qed.

Lemma rare_and_punished :
  forall (n : nat) (surprisal advantage : vector) (lower : R),
  (1 <= n)%nat -> (forall i, (i < n)%nat -> 0 <= surprisal i) -> 0 < lower ->
  0 < lower - batch_mean n surprisal * largest n (deviation n advantage) ->
  forall i, (i < n)%nat -> lower <= cross_product n surprisal advantage i ->
  0 < - deviation n (fun j => - surprisal j) i /\ 0 < - deviation n advantage i.
Proof.
  intros n surprisal advantage lower one nonneg positive confident_batch i inside selected.
  unfold cross_product in selected.
  pose proof (batch_mean_nonneg n surprisal one nonneg) as mean_nonneg.
  destruct (factors_of_positive (deviation n (fun j => - surprisal j) i) (deviation n advantage i))
    as [[confident correct]|[rare punished]]; [lra|exfalso|lra].
  rewrite deviation_of_log in *; specialize (nonneg i inside).
  pose proof (largest_ge n (deviation n advantage) i inside) as top.
  assert (batch_mean n surprisal * deviation n advantage i
          <= batch_mean n surprisal * largest n (deviation n advantage))
    by (apply Rmult_le_compat_l; assumption).
  assert (0 <= surprisal i * deviation n advantage i) by (apply Rmult_le_pos; lra).
  lra.
Qed.

Theorem proved : Statements.entropy_mechanism.selected_tokens.repair.
Proof.
  intros n surprisal advantage lower two nonneg positive _ confident_batch.
  assert (both : forall i, (i < n)%nat -> lower <= cross_product n surprisal advantage i ->
            0 < - deviation n (fun j => - surprisal j) i /\ 0 < - deviation n advantage i).
  { apply (rare_and_punished n surprisal advantage lower ltac:(lia) nonneg positive).
    apply Rlt_Rminus; exact confident_batch. }
  split; intros i inside;
    destruct (less (Statements.entropy_mechanism.selected_tokens.cross_product n surprisal advantage i) lower)
      eqn:spared; cbn [negb]; try lra;
    apply is_not_less in spared; destruct (both i inside spared) as [rare punished].
  - exact rare.
  - exact punished.
Qed.

From PolicyEntropy.library Require Import Witnesses Domains.

Theorem witness : Statements.entropy_mechanism.selected_tokens.witness.
Proof.
  exists 3%nat, (fun a => match a with | 0%nat => 0 | 1%nat => 0 | _ => 1 end), (fun a => match a with |
    0%nat => 1 | 1%nat => 2 | _ => (- (1)) end), 1; witnessed.
Qed.

Theorem defined : Statements.entropy_mechanism.selected_tokens.defined.
Proof. domains. Qed.
