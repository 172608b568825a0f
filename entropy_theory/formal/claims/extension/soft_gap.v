(** Lemma 6 of AEnt, twice sharper (extension):

        V*_lambda(q) - V_lambda(q) <= ||grad V_lambda(D)||_2^2/(4 lambda C),

    C the least (P(s) min_a pi(a|s)/|D|)^2 / P*(s) over the states s. Returns are any real numbers. *)

From Coq Require Import Reals Lra Lia Psatz List.
From Coquelicot Require Import Coquelicot.
From PolicyEntropy.library Require Import Definitions Basics Inequalities Trees TreeValues TreeLargest
  TreeGradientBounds Stationarity SoftOptimum SoftGap.
From Statements.extension Require soft_gap.
Open Scope R_scope.

Lemma squares_eq n h prompts z reward lambda :
  Statements.extension.soft_gap.square_of_soft_gradient n h prompts z reward lambda
  = regularized_gradient_squares n h prompts z reward lambda.
Proof.
  apply sum_ext; intros q _; apply sum_states_ext; intros s _; apply sum_ext; intros a _.
  assert (forall x y, x = y -> x / INR prompts * (x / INR prompts) = Rsqr (y / INR prompts)) as same
    by (intros x y ->; reflexivity).
  apply same; apply Rmult_assoc.
Qed.

Lemma soft_gap_eq n h prompts z reward lambda q :
  Statements.extension.soft_gap.soft_gap n h prompts z reward lambda q = soft_gap n h (z q) (reward q) lambda.
Proof. reflexivity. Qed.

Theorem proved : Statements.extension.soft_gap.statement.
Proof.
  intros n h prompts logits reward lambda several long _ positive q inside.
  rewrite squares_eq, soft_gap_eq.
  eapply Rle_trans; [|apply (soft_gap_by_state n h prompts logits reward lambda q); assumption || lia].
  apply Req_le; unfold Statements.extension.soft_gap.soft_constant, Statements.extension.soft_gap.visits,
    Statements.extension.soft_gap.soft_visits; ring.
Qed.
