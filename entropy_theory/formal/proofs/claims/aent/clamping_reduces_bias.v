(** AEnt, section 4.1: "clamping the entropy reduces its bias". With a bonus on k tokens of which m' are
    right, the optimum softmax(r/lambda) gives away B(k, m') = (k - m')/(m' e^{1/lambda} + k - m'). False as
    printed; B(k, m') <= B(n, m) exactly where right tokens are at least as dense among the kept ones,
    m'/k >= m/n, so in particular whenever every right token is kept. *)

From Coq Require Import Reals Lra Lia List Bool.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics Masks BonusBias Ranking.
From Trusted.Statements.aent Require clamping_reduces_bias.
Open Scope R_scope.

Lemma bias_and_density :
  forall (n : nat) (correct kept : mask) (coefficient : R),
  nonempty n correct -> nonempty n kept -> 0 < coefficient ->
  let tokens := INR n in
  let right := count_on n correct in
  let k := count_on n kept in
  let kept_right := count_on n (both kept correct) in
  let less_biased := bias tokens right coefficient - bias k kept_right coefficient in
  let denser := kept_right * tokens - right * k in
  0 <= less_biased * denser
  /\ (less_biased = 0 <-> denser = 0)
  /\ (0 <= less_biased <-> right / tokens <= kept_right / k)
  /\ ((forall a, (a < n)%nat -> correct a = true -> kept a = true) -> 0 <= less_biased).
Proof.
  intros n correct kept coefficient some_right some_kept positive tokens right k kept_right
    less_biased denser.
  assert (right_positive : 0 < right) by (pose proof (count_on_ge_1 n correct some_right); unfold right; lra).
  assert (k_positive : 0 < k) by (pose proof (count_on_ge_1 n kept some_kept); unfold k; lra).
  assert (right_most : right <= tokens) by apply count_on_at_most.
  assert (kept_nonneg : 0 <= kept_right) by apply count_on_nonneg.
  assert (kept_split : k = kept_right + count_on n (both kept (complement correct)))
    by apply total_on_both.
  assert (kept_most : kept_right <= k)
    by (pose proof (count_on_nonneg n (both kept (complement correct))); lra).
  pose proof (less_biased_iff_denser tokens right k kept_right coefficient right_positive right_most
                k_positive kept_nonneg kept_most) as compare.
  assert (density : right / tokens <= kept_right / k <-> right * k <= kept_right * tokens).
  { assert (forms : right / tokens = right * k / (tokens * k) /\ kept_right / k = kept_right * tokens / (tokens * k))
      by (split; field; lra).
    destruct forms as [all_form kept_form]; rewrite all_form, kept_form.
    assert (0 < tokens * k) by (apply Rmult_lt_0_compat; lra).
    split; intros given.
    - apply (Rmult_le_compat_r (tokens * k)) in given; [|lra].
      replace (right * k / (tokens * k) * (tokens * k)) with (right * k) in given by (field; lra).
      replace (kept_right * tokens / (tokens * k) * (tokens * k)) with (kept_right * tokens) in given
        by (field; lra).
      exact given.
    - apply Rmult_le_compat_r; [apply Rlt_le, Rinv_0_lt_compat; assumption|exact given]. }
  split; [|split; [|split]].
  - apply same_sign; assumption.
  - apply both_vanish; assumption.
  - rewrite density, <- compare; unfold less_biased; split; intros; lra.
  - intros all_kept.
    assert (same : kept_right = right).
    { apply total_on_same_set; intros a inside; unfold both.
      destruct (correct a) eqn:member; [rewrite all_kept; auto|apply andb_false_r]. }
    assert (k <= tokens) by apply count_on_at_most.
    assert (bias k kept_right coefficient <= bias tokens right coefficient); [|unfold less_biased; lra].
    apply compare; rewrite same; apply Rmult_le_compat_l; lra.
Qed.

Theorem proved : Statements.aent.clamping_reduces_bias.repair.
Proof.
  intros n logits correct coefficient removed two some_right positive _ small.
  pose proof (some_kept n logits removed ltac:(lia) small) as some_left.
  destruct (bias_and_density n correct (kept_tokens n logits removed) coefficient some_right some_left positive)
    as [same_sign [vanish [_ all_kept]]].
  split; [exact same_sign|split; [apply vanish|split; [apply vanish|]]].
  intros covered; apply all_kept; intros a inside right.
  destruct (covered a inside) as [wrong|kept]; [contradiction|exact kept].
Qed.

From PolicyEntropy.library Require Import Witnesses Domains.

Theorem witness : Statements.aent.clamping_reduces_bias.witness.
Proof. exists 2%nat, (fun _ => 0), (fun a => Nat.eqb a 1), 1, (1 / 2); witnessed. Qed.

(** Where every token is right, or the kept ones are, nothing is given away. *)
Theorem witness_1 : Statements.aent.clamping_reduces_bias.witness_1.
Proof.
  exists 2%nat, (fun _ => 0), (fun _ => true), 1, (1 / 2); do 5 (split; [witnessed|]).
  unfold Statements.aent.clamping_reduces_bias.bias.
  rewrite (total_on_same_set 2 (fun a => andb _ true) (fun a => kept_tokens 2 (fun _ => 0) (1 / 2) a))
    by (intros; apply andb_true_r).
  rewrite total_on_everything by (intros a _; reflexivity); simpl sum; simpl INR; unfold Rdiv; ring.
Qed.

Theorem witness_2 : Statements.aent.clamping_reduces_bias.witness_2.
Proof.
  exists 2%nat, (fun _ => 0), (fun _ => true), 1, (1 / 2); do 5 (split; [witnessed|]).
  rewrite (total_on_same_set 2 (fun a => andb _ true) (fun a => kept_tokens 2 (fun _ => 0) (1 / 2) a))
    by (intros; apply andb_true_r).
  rewrite (total_on_everything 2 (fun _ => true)) by (intros a _; reflexivity); simpl sum; simpl INR; ring.
Qed.

Theorem witness_3 : Statements.aent.clamping_reduces_bias.witness_3.
Proof.
  exists 2%nat, (fun _ => 0), (kept_tokens 2 (fun _ => 0) (1 / 2)), 1, (1 / 2).
  split; [lia|]; split; [apply some_kept; (lia || lra)|]; do 3 (split; [lra|]).
  intros a _; destruct (kept_tokens _ _ _ a); [right; reflexivity|left; discriminate].
Qed.

Theorem defined : Statements.aent.clamping_reduces_bias.defined.
Proof.
  domains; apply nonzero_of_pos, mixture_pos;
    first [apply exp_pos | apply count_on_nonneg | apply count_on_at_most | apply count_of_both
          | apply lt_0_INR; lia | apply count_on_pos, some_kept; lia || lra].
Qed.
