(** AEnt, section 4.1: "policy gradient squeezes what it does not sample". One sampled token k with the step
    size * (e_k - pi): false as printed. Another token a loses probability at every size if
    pi_a + pi_k >= sum_b pi_b^2; and all others do if the sampled token is the likeliest. *)

From Coq Require Import Reals Lra Lia List Bool.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics Calculus Contributions Divergence Masks Growth Ranking.
From Trusted.Statements.aent Require squeezes_unsampled.
Open Scope R_scope.

Definition sampled_step (n : nat) (z : vector) (k : nat) (size : R) : vector :=
  fun a => size * (at_action k a - softmax n z a).
(** log pi'_a - log pi_a after the step. *)
Definition growth (n : nat) (z : vector) (k : nat) (size : R) : vector := fun a =>
  log_softmax n (fun b => z b + sampled_step n z k size b) a - log_softmax n z a.
Definition collision (n : nat) (z : vector) : R := sum n (fun a => softmax n z a * softmax n z a).

Section OneSample.

Variables (n : nat) (z : vector) (k : nat) (size : R).
Hypothesis k_inside : (k < n)%nat.

Lemma some_action : (0 < n)%nat.
Proof. lia. Qed.

Lemma mean_step :
  mean n (softmax n z) (sampled_step n z k size) = size * (softmax n z k - collision n z).
Proof.
  unfold sampled_step; rewrite mean_scal, mean_minus, mean_at_action by exact k_inside.
  reflexivity.
Qed.

Lemma growth_of_other a :
  a <> k -> growth n z k size a <= - size * (softmax n z a + softmax n z k - collision n z).
Proof.
  intros other; unfold growth.
  apply Rle_trans with (sampled_step n z k size a - mean n (softmax n z) (sampled_step n z k size)).
  - apply growth_at_most, some_action.
  - rewrite mean_step; unfold sampled_step, at_action, only.
    destruct (Nat.eqb_spec k a); [congruence|lra].
Qed.

(** The rate at size 0. *)
Lemma rate_of_other a :
  (a < n)%nat -> a <> k ->
  derivative (fun c => growth n z k c a) 0 (collision n z - softmax n z k - softmax n z a).
Proof.
  intros inside other; apply derivative_of_is_derive; unfold growth.
  set (d := fun b => at_action k b - softmax n z b).
  evar_last.
  - apply @is_derive_minus; [|apply @is_derive_const].
    apply (is_derive_log_softmax n (fun c b => z b + sampled_step n z k c b) d 0 some_action);
      [|exact inside].
    intros b _; unfold sampled_step, d; auto_derive; [trivial|ring].
  - assert (same : forall b, (b < n)%nat ->
              softmax n (fun b => z b + sampled_step n z k 0 b) b = softmax n z b)
      by (intros; apply softmax_ext; [intros; unfold sampled_step; ring|assumption]).
    assert (mean n (softmax n (fun b => z b + sampled_step n z k 0 b)) d
            = softmax n z k - collision n z) as average.
    { transitivity (mean n (softmax n z) d).
      - apply sum_ext; intros b b_inside; rewrite same by exact b_inside; reflexivity.
      - unfold d; rewrite mean_minus, mean_at_action by exact k_inside; reflexivity. }
    unfold minus, plus, opp, zero; simpl; unfold centered; rewrite average; unfold d, at_action, only.
    destruct (Nat.eqb_spec k a); [congruence|ring].
Qed.

(** The likeliest token has at least the mean probability, the collision probability. *)
Lemma collision_below_largest :
  (forall b, (b < n)%nat -> softmax n z b <= softmax n z k) -> collision n z <= softmax n z k.
Proof.
  intros likeliest.
  rewrite <- (mean_const n (softmax n z) (softmax n z k)) by apply softmax_sum, some_action.
  apply mean_le; [intros; apply Rlt_le, softmax_pos, some_action|exact likeliest].
Qed.

End OneSample.

Lemma who_falls :
  forall (n : nat) (logits : vector) (size : R) (k a : nat),
  (2 <= n)%nat -> 0 < size -> (k < n)%nat -> (a < n)%nat -> a <> k ->
  0 <= Rmax (collision n logits - softmax n logits k - softmax n logits a)
            (- growth n logits k size a)
  /\ ((forall b, (b < n)%nat -> logits b <= logits k) -> 0 <= - growth n logits k size a).
Proof.
  intros n logits size k a two positive k_inside a_inside other.
  pose proof (growth_of_other n logits k size k_inside a other) as falls.
  assert (some : (0 < n)%nat) by lia.
  split.
  - destruct (Rle_dec 0 (collision n logits - softmax n logits k - softmax n logits a)) as [rare|likely].
    + eapply Rle_trans; [exact rare|apply Rmax_l].
    + eapply Rle_trans; [|apply Rmax_r].
      assert (0 <= size * (softmax n logits a + softmax n logits k - collision n logits))
        by (apply Rmult_le_pos; lra).
      lra.
  - intros likeliest.
    assert (collision n logits <= softmax n logits k).
    { apply collision_below_largest; [exact k_inside|].
      intros b b_inside; apply softmax_le; [exact some|apply likeliest, b_inside]. }
    pose proof (softmax_pos n logits a some).
    assert (0 <= size * (softmax n logits a + softmax n logits k - collision n logits))
      by (apply Rmult_le_pos; lra).
    lra.
Qed.

Theorem proved : Statements.aent.squeezes_unsampled.repair.
Proof.
  intros n logits size two positive; assert (some : (0 < n)%nat) by lia; split.
  - intros k k_inside a a_inside; destruct (Nat.eqb_spec k a) as [same|other]; [lra|].
    apply (who_falls n logits size k a two positive k_inside a_inside); congruence.
  - intros k k_inside a a_inside.
    destruct (Nat.eqb_spec (likeliest n logits) k) as [top|_]; [|simpl; lra].
    destruct (Nat.eqb_spec k a) as [same|other]; [simpl; lra|]; cbn [negb andb].
    apply (who_falls n logits size k a two positive k_inside a_inside); [congruence|].
    rewrite <- top; apply likeliest_spec, some.
Qed.

From PolicyEntropy.library Require Import Witnesses.

Theorem witness : Statements.aent.squeezes_unsampled.witness.
Proof. exists 2%nat, (fun _ => 0), 1; witnessed. Qed.

From PolicyEntropy.library Require Import ConditionsMet.
From Trusted.Theorems.aent Require squeezes_unsampled.
From Trusted.Conditions.aent Require squeezes_unsampled.

Theorem rate_of_other_witness : Conditions.aent.squeezes_unsampled.rate_of_other_witness.
Proof. exists 2%nat, 0%nat; repeat (split; [met|]); exists 1%nat; met. Qed.
