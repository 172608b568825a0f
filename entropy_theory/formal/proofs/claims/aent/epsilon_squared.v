(** AEnt, after Proposition 2, as repaired: when a bound in eps^2 plus a bias improves on one in eps.

        B1 = sqrt(h) eps/C,   B2 = eps^2/(2 lambda C_lambda) + lambda L,   L = h log n - log m.

    Printed: the regularized bound B2 is the better one. [fails]: not for two equally likely answers.
    The exact crossover ([crossover]) is an interval of eps around c/(2k) that may be empty. Repaired
    ([proved]): with a single right response, returns 1 and 0, B2 >= min(1, B1) whatever eps and lambda;
    wherever B2 says anything, B1 says more. *)

From Coq Require Import Reals Lra Lia Psatz List.
From Coquelicot Require Import Coquelicot.
From Trusted Require Import Definitions.
From PolicyEntropy.library Require Import Basics Masks Inequalities Trees TreeValues
  TreeLargest TreeGradientBounds Stationarity SoftOptimum SoftVisits SoftGap.
From Trusted.Statements.aent Require Import epsilon_squared.
Import ListNotations.
Open Scope R_scope.

(** A number that is allowed as the constant of Proposition 2. *)
Definition allowed (n h : nat) (logits : policy) (reward : state -> R) (lambda constant : R) : Prop :=
  0 < constant /\
  forall s, state_of n h s ->
    constant * probability n (soft_policy n h lambda (edge_reward h reward)) s
    <= Rsqr (probability n logits s * smallest n (softmax n (logits s))).

(** B1 - B2 as a distance of eps from c/(2k). *)
Theorem crossover k c eps bias :
  0 < k -> (k * (eps * eps) + bias <= c * eps <-> Rsqr (2 * k * eps - c) <= c * c - 4 * k * bias).
Proof. intros positive; unfold Rsqr; split; intros; nra. Qed.

(** * Numbers *)

Lemma ln_2_above : 69 / 100 <= ln 2.
Proof.
  pose (f := fun x => ln (1 + x) - ln (1 - x) - 2 * x - 2 / 3 * (x * x * x)).
  assert (f 0 <= f (/ 3)) as above.
  { apply (nondecreasing_of_derivative f (fun x => 2 * (x * x * x * x) / (1 - x * x))); [lra| |].
    - intros x inside; assert (0 < 1 - x * x) by nra.
      unfold f; auto_derive; [repeat split; lra|field; repeat split; nra].
    - intros x inside; assert (0 < 1 - x * x) by nra.
      apply Rmult_le_pos; [|apply Rlt_le, Rinv_0_lt_compat; assumption].
      pose proof (Rle_0_sqr (x * x)); unfold Rsqr in *; nra. }
  unfold f in above; rewrite Rplus_0_r, Rminus_0_r, ln_1 in above.
  replace (ln 2) with (ln (1 + / 3) - ln (1 - / 3)); [lra|].
  rewrite <- ln_div by lra; f_equal; field.
Qed.

(** e^y >= 1 + y + y^2/2 + y^3/6 for y >= 0. *)
Lemma exp_above_cubic y : 0 <= y -> 1 + y + y * y / 2 + y * y * y / 6 <= exp y.
Proof.
  assert (forall t, 0 <= t -> 0 <= exp t - (1 + t + t * t / 2)) as quadratic.
  { intros t nonneg; replace 0 with (exp 0 - (1 + 0 + 0 * 0 / 2)) by (rewrite exp_0; field).
    apply (nondecreasing_of_derivative (fun s => exp s - (1 + s + s * s / 2))
             (fun s => exp s - (1 + s))); [assumption| |].
    - intros s _; auto_derive; [trivial|field].
    - intros s _; pose proof (exp_ineq1_le s); lra. }
  intros nonneg; enough (0 <= exp y - (1 + y + y * y / 2 + y * y * y / 6)) by lra.
  replace 0 with (exp 0 - (1 + 0 + 0 * 0 / 2 + 0 * 0 * 0 / 6)) by (rewrite exp_0; field).
  apply (nondecreasing_of_derivative (fun s => exp s - (1 + s + s * s / 2 + s * s * s / 6))
           (fun s => exp s - (1 + s + s * s / 2))); [assumption| |].
  - intros s _; auto_derive; [trivial|field].
  - intros s inside; apply quadratic; lra.
Qed.

(** 4 y (1 + e^-y) <= (2 log 2 + y)^2 for y >= 0. *)
Lemma two_token_inequality y : 0 <= y -> 4 * y * (1 + exp (- y)) <= Rsqr (2 * ln 2 + y).
Proof.
  intros nonneg; pose proof ln_2_above as l; pose proof (exp_above_cubic y nonneg) as above.
  set (T := 1 + y + y * y / 2 + y * y * y / 6) in *.
  assert (0 <= y * y) by nra; assert (0 <= y * y * y) by nra.
  assert (1 <= T) as T_pos by (unfold T; lra).
  assert (exp (- y) <= / T) as small by (rewrite exp_Ropp; apply Rinv_le_contravar; lra).
  apply Rle_trans with (4 * y * (1 + / T)); [apply Rmult_le_compat_l; lra|].
  apply Rle_trans with (Rsqr (138 / 100 + y)); [|apply Rsqr_incr_1; lra].
  apply (Rmult_le_reg_r T); [lra|].
  replace (4 * y * (1 + / T) * T) with (4 * y * (T + 1)) by (field; lra).
  assert (0 <= (y - 8 / 10) * (y - 8 / 10) * (y + 16 / 10)) as cubic
    by (apply Rmult_le_pos; [apply Rle_0_sqr|lra]).
  pose proof (Rle_0_sqr (y * y - 64 / 100)) as quartic.
  assert (0 <= y * y * y * y * y) by nra.
  pose proof (Rle_0_sqr (y - 98 / 100)) as square.
  unfold T, Rsqr in *; nra.
Qed.

(** * The ratio rho = C_lambda/(2 log n C^2) *)

(** With E > N: the state before the right token is visited at least half of the time if n >= 3. *)
Lemma ratio_wide n N E rho log_n visit :
  3 <= n -> n <= N -> N < E -> visit = (E + n - 1) / (E + N - 1) -> 1 <= log_n -> 0 < rho ->
  2 * rho * log_n * visit <= 1 -> rho <= 1.
Proof.
  intros three small large is_visit log_above positive bound.
  assert (/ 2 <= visit).
  { rewrite is_visit; apply (Rmult_le_reg_r (E + N - 1)); [lra|].
    replace ((E + n - 1) / (E + N - 1) * (E + N - 1)) with (E + n - 1) by (field; lra); lra. }
  assert (1 * / 2 <= log_n * visit) by (apply Rmult_le_compat; lra).
  nra.
Qed.

(** Two tokens: rho <= 1, or the bias b = lambda log N exceeds 1/2 and 4 b (1 - b) rho <= 1. *)
Lemma ratio_two_tokens N E rho visit lambda :
  4 <= N -> N < E -> lambda * ln E = 1 -> visit = (E + 1) / (E + N - 1) -> 0 < rho -> 0 < lambda ->
  2 * rho * ln 2 * visit <= 1 ->
  rho <= 1 \/ (1 / 2 <= lambda * ln N /\ 4 * (lambda * ln N) * (1 - lambda * ln N) * rho <= 1).
Proof.
  intros four large inverse is_visit positive lambda_pos bound; pose proof ln_2_above as l.
  set (x := E / N); assert (1 < x) as x_above.
  { unfold x; apply (Rmult_lt_reg_r N); [lra|]; unfold Rdiv; rewrite Rmult_assoc, Rinv_l by lra; lra. }
  assert (E = x * N) as E_eq by (unfold x; field; lra).
  assert (2 * rho * ln 2 * x <= 1 + x) as ratio.
  { assert (x <= visit * (1 + x)) as part.
    { rewrite is_visit; apply (Rmult_le_reg_r (E + N - 1)); [lra|].
      replace ((E + 1) / (E + N - 1) * (1 + x) * (E + N - 1)) with ((E + 1) * (1 + x))
        by (field; lra).
      rewrite E_eq; nra. }
    assert (0 <= 2 * rho * ln 2) by nra.
    apply Rle_trans with (2 * rho * ln 2 * (visit * (1 + x))); [apply Rmult_le_compat_l; assumption|].
    replace (2 * rho * ln 2 * (visit * (1 + x))) with (2 * rho * ln 2 * visit * (1 + x)) by ring.
    nra. }
  destruct (Rle_or_lt 4 x) as [far|near]; [left|right].
  { destruct (Rle_or_lt rho 1) as [|above]; [assumption|exfalso].
    assert (1 * (69 / 100) <= rho * ln 2) as product by (apply Rmult_le_compat; lra).
    apply (Rmult_le_compat_r x) in product; [|lra]; lra. }
  set (y := ln x); set (M := ln N).
  assert (0 < y) as y_pos by (unfold y; rewrite <- ln_1; apply ln_increasing; lra).
  assert (ln 4 = 2 * ln 2) as log_4.
  { replace 4 with (2 * 2) by ring; rewrite ln_mult by lra; ring. }
  assert (y < 2 * ln 2) as y_small by (unfold y; rewrite <- log_4; apply ln_increasing; lra).
  assert (2 * ln 2 <= M) as M_large by (unfold M; rewrite <- log_4; apply ln_le_increasing; lra).
  assert (lambda = / (y + M)) as is_lambda.
  { rewrite E_eq, ln_mult in inverse by lra; fold y M in inverse.
    apply (Rmult_eq_reg_r (y + M)); [|lra]; rewrite Rinv_l by lra; exact inverse. }
  assert (exp (- y) = / x) as inverse_x by (unfold y; rewrite exp_Ropp, exp_ln by lra; reflexivity).
  pose proof (two_token_inequality y ltac:(lra)) as key; rewrite inverse_x in key.
  assert (rho * (2 * ln 2) <= 1 + / x) as rho_small.
  { apply (Rmult_le_reg_r x); [lra|]; rewrite Rmult_plus_distr_r, Rinv_l by lra; lra. }
  rewrite is_lambda; split.
  - apply (Rmult_le_reg_r (y + M)); [lra|].
    replace (/ (y + M) * M * (y + M)) with M by (field; lra); lra.
  - apply (Rmult_le_reg_r (Rsqr (y + M))); [unfold Rsqr; nra|].
    replace (4 * (/ (y + M) * M) * (1 - / (y + M) * M) * rho * Rsqr (y + M))
      with (4 * M * y * rho) by (unfold Rsqr; field; lra).
    rewrite Rmult_1_l; set (a := 2 * ln 2) in *.
    (* a Rsqr(y + M) >= M Rsqr(a + y), as (M - a)(a M - y^2) >= 0. *)
    assert (M * Rsqr (a + y) <= a * Rsqr (y + M)) as spread.
    { assert (0 <= (M - a) * (a * M - y * y)) by (apply Rmult_le_pos; nra); unfold Rsqr; nra. }
    apply (Rmult_le_reg_l a); [lra|].
    apply Rle_trans with (M * Rsqr (a + y)); [|exact spread].
    replace (a * (4 * M * y * rho)) with (M * (4 * y * (rho * a))) by ring.
    apply Rmult_le_compat_l; [lra|].
    eapply Rle_trans; [|exact key]; apply Rmult_le_compat_l; lra.
Qed.

(** B1^2 = 4 b rho w is at most (w + b)^2 while w + b < 1. *)
Lemma short_of_one w b rho :
  0 <= w -> 0 < b -> w + b < 1 -> 0 < rho ->
  rho <= 1 \/ (1 / 2 <= b /\ 4 * b * (1 - b) * rho <= 1) ->
  4 * b * rho * w <= Rsqr (w + b).
Proof.
  intros w_nonneg b_pos short rho_pos [small|[large product]].
  - assert (b * w * rho <= b * w * 1) by (apply Rmult_le_compat_l; nra).
    pose proof (Rle_0_sqr (w - b)); unfold Rsqr in *; nra.
  - apply (Rmult_le_reg_l (1 - b)); [lra|].
    apply Rle_trans with w.
    + replace ((1 - b) * (4 * b * rho * w)) with (4 * b * (1 - b) * rho * w) by ring; nra.
    + assert (0 <= (1 - b - w) * (b * b - (1 - b) * w)); [|unfold Rsqr; nra].
      apply Rmult_le_pos; [lra|]; nra.
Qed.

(** * The claim *)

Theorem never_useful :
  forall (n h : nat) (logits : policy) (reward : state -> R) (right : state)
         (lambda constant eps : R),
    (2 <= n)%nat -> (1 <= h)%nat -> 0 < lambda -> 0 <= eps ->
    response_of n h right -> reward right = 1 ->
    (forall u, response_of n h u -> u <> right -> reward u = 0) ->
    allowed n h logits reward lambda constant ->
    Rmin 1 (sqrt (INR h) * eps / probability n logits right)
    <= eps * eps / (2 * lambda * constant) + lambda * (INR h * ln (INR n)).
Proof.
  intros n h logits reward y lambda constant eps several long positive eps_nonneg response
    right wrong [constant_pos small].
  assert (0 < n)%nat as some by lia.
  set (C := probability n logits y); set (b := lambda * (INR h * ln (INR n))).
  set (w := eps * eps / (2 * lambda * constant)).
  assert (0 < C) as C_pos by apply probability_pos, some.
  assert (2 <= INR n) as two by (apply (le_INR 2); lia).
  assert (1 <= INR h) as one_h by (apply (le_INR 1); lia).
  assert (0 < ln (INR n)) as log_n_pos by (rewrite <- ln_1; apply ln_increasing; lra).
  assert (0 < 2 * lambda * constant) as scale by nra.
  assert (0 <= w) as w_nonneg
    by (apply Rmult_le_pos; [nra|apply Rlt_le, Rinv_0_lt_compat; exact scale]).
  assert (0 < b) as b_pos by (unfold b; apply Rmult_lt_0_compat; [lra|nra]).
  destruct (Rle_or_lt 1 (w + b)) as [void|short].
  { eapply Rle_trans; [apply Rmin_l|exact void]. }
  eapply Rle_trans; [apply Rmin_r|].
  (* The state before the last token of the right response. *)
  destruct (@exists_last _ y) as (s & a & is_y).
  { destruct response as [length_y _]; intros ->; simpl in length_y; lia. }
  assert (state_of n h s /\ (a < n)%nat) as [s_state a_inside].
  { destruct response as [length_y below_n]; rewrite is_y in length_y, below_n.
    rewrite app_length in length_y; simpl in length_y; apply Forall_app in below_n as [s_below a_below].
    split; [split; [lia|assumption]|inversion a_below; assumption]. }
  set (visit := probability n (soft_policy n h lambda (edge_reward h reward)) s).
  assert (0 < visit) as visit_pos by apply probability_pos, some.
  assert (constant * visit <= C * C) as parent.
  { eapply Rle_trans; [apply small, s_state|].
    assert (C = probability n logits s * softmax n (logits s) a) as C_eq
      by (unfold C; rewrite is_y; apply probability_child).
    rewrite C_eq; pose proof (probability_pos n logits s some) as reached.
    destruct (smallest_attained n (softmax n (logits s)) some) as (k & _ & is_k).
    pose proof (softmax_pos n (logits s) k some) as least_pos; rewrite <- is_k in least_pos.
    pose proof (smallest_le n (softmax n (logits s)) a a_inside) as least.
    apply (Rsqr_incr_1 (probability n logits s * smallest n (softmax n (logits s)))
             (probability n logits s * softmax n (logits s) a));
      [apply Rmult_le_compat_l; lra|apply Rmult_le_pos; lra|apply Rmult_le_pos; lra]. }
  set (rho := constant / (2 * ln (INR n) * (C * C))).
  assert (0 < C * C) as C_square by nra.
  assert (0 < rho) as rho_pos by (apply Rdiv_lt_0_compat; [assumption|nra]).
  assert (2 * rho * ln (INR n) * visit <= 1) as ratio.
  { apply (Rmult_le_reg_r (C * C)); [assumption|].
    replace (2 * rho * ln (INR n) * visit * (C * C)) with (constant * visit)
      by (unfold rho; field; lra); lra. }
  set (E := exp (1 / lambda)); set (N := INR n ^ h).
  assert (visit = (E + INR n - 1) / (E + N - 1)) as is_visit
    by (apply (visits_before_right n h reward lambda y some long positive response right wrong s a is_y)).
  assert (INR n <= N) as N_above.
  { unfold N; rewrite <- (pow_1 (INR n)) at 1; apply Rle_pow; [lra|lia]. }
  assert (ln N = INR h * ln (INR n)) as log_N by (unfold N; apply ln_pow; lra).
  assert (lambda * ln E = 1) as log_E by (unfold E; rewrite ln_exp; field; lra).
  assert (N < E) as large.
  { rewrite <- (exp_ln N) by lra; unfold E; apply exp_increasing.
    apply (Rmult_lt_reg_l lambda); [assumption|].
    replace (lambda * (1 / lambda)) with 1 by (field; lra).
    rewrite log_N; fold b; lra. }
  assert (rho <= 1 \/ (1 / 2 <= b /\ 4 * b * (1 - b) * rho <= 1)) as cases.
  { destruct (Nat.eq_dec n 2) as [two_tokens|more].
    - assert (INR n = 2) as n_eq by (rewrite two_tokens; reflexivity).
      rewrite n_eq in ratio, is_visit.
      destruct (Nat.eq_dec h 1) as [one_token|more].
      + left; assert (N = 2) as N_eq by (unfold N; rewrite one_token, n_eq; ring).
        assert (visit = 1) as always by (rewrite is_visit, N_eq; field; lra).
        rewrite always in ratio; pose proof ln_2_above; nra.
      + replace b with (lambda * ln N) by (unfold b; rewrite log_N; reflexivity).
        apply (ratio_two_tokens N E rho visit lambda); try assumption.
        * unfold N; rewrite n_eq; replace 4 with (2 ^ 2) by ring; apply Rle_pow; [lra|lia].
        * rewrite is_visit; f_equal; ring.
    - left; assert (3 <= INR n) as three
        by (replace 3 with (INR 3) by (simpl; ring); apply le_INR; lia).
      apply (ratio_wide (INR n) N E rho (ln (INR n)) visit); try assumption.
      rewrite <- (ln_exp 1); apply ln_le_increasing; [apply exp_pos|].
      pose proof exp_le_3; lra. }
  pose proof (short_of_one w b rho w_nonneg b_pos short rho_pos cases) as close.
  apply Rsqr_incr_0_var; [|lra].
  replace (Rsqr (sqrt (INR h) * eps / C)) with (4 * b * rho * w); [exact close|].
  replace (sqrt (INR h) * eps / C) with (sqrt (INR h) * (eps / C)) by (field; lra).
  rewrite Rsqr_mult, Rsqr_sqrt by lra.
  unfold b, rho, w, Rsqr; field; repeat split; lra.
Qed.

(** The response that a sum of indicators equal to 1 points at. *)
Lemma only_right n h correct :
  (exists y, response_of n h y /\ correct y = true) ->
  sum_responses n h (fun y => if correct y then 1 else 0) = 1 ->
  exists y, response_of n h y /\ correct y = true /\
    forall u, response_of n h u -> u <> y -> correct u = false.
Proof.
  intros (y & response & here) one; exists y; split; [exact response|split; [exact here|]].
  intros u u_response other; destruct (correct u) eqn:also; [exfalso|reflexivity].
  (* Two right responses would have a sum of at least 2. *)
  pose (rest := fun v => if list_eq_dec Nat.eq_dec v y then 0 else if correct v then 1 else 0).
  assert (sum_responses n h (fun v => if correct v then 1 else 0)
          = sum_responses n h (fun v => if list_eq_dec Nat.eq_dec v y then 1 else 0)
            + sum_responses n h rest) as split.
  { rewrite <- sum_responses_plus; apply sum_responses_ext; intros v _; unfold rest.
    destruct (list_eq_dec Nat.eq_dec v y) as [->|]; [rewrite here|]; ring. }
  rewrite (sum_responses_only_one n h (fun v => if list_eq_dec Nat.eq_dec v y then 1 else 0) y response)
    in split.
  - assert (rest u <= sum_responses n h rest) as more.
    { apply sum_responses_ge_term; [|exact u_response]; intros v _; unfold rest.
      destruct (list_eq_dec Nat.eq_dec v y); [lra|destruct (correct v); lra]. }
    unfold rest at 1 in more; destruct (list_eq_dec Nat.eq_dec u y); [contradiction|].
    rewrite also in more; destruct (list_eq_dec Nat.eq_dec y y); [lra|contradiction].
  - intros v _ v_other; destruct (list_eq_dec Nat.eq_dec v y); [contradiction|reflexivity].
Qed.

Theorem proved : Statements.aent.epsilon_squared.repair.
Proof.
  intros n h logits correct lambda eps several long found positive eps_pos one.
  assert (0 < n)%nat as some by lia.
  destruct (only_right n h correct found one) as (y & response & here & elsewhere).
  set (reward := fun u => if correct u then 1 else 0).
  assert (largest_responses n h reward = 1) as top.
  { apply Rle_antisym.
    - destruct (largest_responses_attained n h reward some) as (u & _ & ->); unfold reward.
      destruct (correct u); lra.
    - pose proof (largest_responses_ge n h reward y response) as above.
      unfold reward in above at 1; rewrite here in above; exact above. }
  assert (forall u, is_right n h reward u = correct u) as same.
  { intros u; unfold is_right, equal; rewrite top; unfold reward.
    destruct (Req_EM_T (if correct u then 1 else 0) 1); destruct (correct u); try reflexivity; lra. }
  assert (entropy_bias n h logits reward lambda = lambda * (INR h * ln (INR n))) as bias.
  { unfold entropy_bias, number_right.
    rewrite (sum_responses_ext n h _ (fun u => if correct u then 1 else 0))
      by (intros u _; rewrite same; reflexivity).
    rewrite one, ln_1; ring. }
  assert (largest_right_probability n h logits reward = probability n logits y) as C_eq.
  { unfold largest_right_probability; apply Rle_antisym.
    - destruct (largest_responses_attained n h
        (fun u => if is_right n h reward u then probability n logits u else 0) some)
        as (u & u_response & ->).
      pose proof (probability_pos n logits y some); rewrite same.
      destruct (list_eq_dec Nat.eq_dec u y) as [->|other]; [rewrite here; lra|].
      rewrite elsewhere by assumption; lra.
    - pose proof (largest_responses_ge n h
        (fun u => if is_right n h reward u then probability n logits u else 0) y response) as above.
      cbv beta in above; rewrite same, here in above; exact above. }
  assert (allowed n h logits reward lambda (soft_constant n h logits reward lambda)) as [constant_pos small].
  { unfold soft_constant; split.
    - destruct (smallest_state_attained n h (fun s =>
        (visits n h logits s * smallest n (softmax n (logits s))) ^ 2
        / soft_visits n h logits reward lambda s) some long) as (s & _ & ->).
      apply Rdiv_lt_0_compat; [|apply probability_pos, some].
      apply pow_lt, Rmult_lt_0_compat; [apply probability_pos, some|].
      destruct (smallest_attained n (softmax n (logits s)) some) as (a & _ & ->); apply softmax_pos, some.
    - intros s state.
      pose proof (smallest_state_le n h (fun u =>
        (visits n h logits u * smallest n (softmax n (logits u))) ^ 2
        / soft_visits n h logits reward lambda u) s state) as below; cbv beta in below.
      pose proof (probability_pos n (soft_policy n h lambda (edge_reward h reward)) s some) as visited.
      apply (Rmult_le_compat_r (probability n (soft_policy n h lambda (edge_reward h reward)) s)) in below;
        [|lra].
      eapply Rle_trans; [exact below|apply Req_le].
      unfold visits, soft_visits, Rsqr; field; lra. }
  pose proof (never_useful n h logits reward y lambda (soft_constant n h logits reward lambda) eps several
    long positive (Rlt_le _ _ eps_pos) response) as useless.
  specialize (useless ltac:(unfold reward; rewrite here; reflexivity)).
  specialize (useless ltac:(intros u u_response other; unfold reward;
    rewrite elsewhere by assumption; reflexivity) (conj constant_pos small)).
  set (D := soft_constant n h logits reward lambda) in *.
  pose proof (probability_pos n logits y some) as C_pos; set (C := probability n logits y) in *.
  assert (0 < 2 * lambda * D) as scale by nra.
  change (linear_coefficient n h logits reward)
    with (sqrt (INR h) / largest_right_probability n h logits reward).
  change (square_coefficient n h logits reward lambda) with (1 / (2 * lambda * D)).
  rewrite C_eq, bias.
  replace (sqrt (INR h) * eps / C) with (sqrt (INR h) / C * eps) in useless by (field; lra).
  replace (eps * eps / (2 * lambda * D)) with (1 / (2 * lambda * D) * eps ^ 2) in useless by (field; lra).
  assert (0 < 1 / (2 * lambda * D)) as k_pos by (apply Rdiv_lt_0_compat; lra).
  pose proof (crossover (1 / (2 * lambda * D)) (sqrt (INR h) / C) eps (lambda * (INR h * ln (INR n))) k_pos)
    as exactly.
  split; [|split; [exact useless|split]].
  - (* One of the two differences is not negative, and each is scaled with a positive number. *)
    unfold Rmin in useless.
    destruct (Rle_dec 1 (sqrt (INR h) / C * eps)) as [_|_].
    + eapply Rle_trans; [|apply Rmax_l].
      apply (Rmult_le_compat_l (2 * lambda * D)) in useless; [|lra].
      replace (2 * lambda * D * (1 / (2 * lambda * D) * eps ^ 2 + lambda * (INR h * ln (INR n))))
        with (eps ^ 2 + 2 * lambda * D * (lambda * (INR h * ln (INR n)))) in useless by (field; lra).
      lra.
    + eapply Rle_trans; [|apply Rmax_r].
      apply (Rmult_le_compat_l (2 * lambda * D * C)) in useless; [|nra].
      replace (2 * lambda * D * C * (1 / (2 * lambda * D) * eps ^ 2 + lambda * (INR h * ln (INR n))))
        with (C * (eps ^ 2 + 2 * lambda * D * (lambda * (INR h * ln (INR n))))) in useless
        by (field; lra).
      replace (2 * lambda * D * C * (sqrt (INR h) / C * eps)) with (2 * lambda * D * sqrt (INR h) * eps)
        in useless by (field; lra).
      lra.
  - intros better; unfold Rsqr in exactly.
    assert (1 / (2 * lambda * D) * (eps * eps) + lambda * (INR h * ln (INR n)) <= sqrt (INR h) / C * eps)
      as premise by (eapply Rle_trans; [|exact better]; apply Req_le; ring).
    apply exactly in premise; simpl pow; lra.
  - intros inside; unfold Rsqr in exactly.
    eapply Rle_trans; [|apply exactly]; [apply Req_le; ring|].
    simpl pow in inside; lra.
Qed.

(** * The counterexample: two answers, equally likely, lambda = 1, eps = 1/2 *)

Theorem fails constant :
  allowed 2 1 even_policy first_is_right 1 constant ->
  sqrt (INR 1) * (1 / 2) / probability 2 even_policy [0%nat]
  < 1 / 2 * (1 / 2) / (2 * 1 * constant) + 1 * (INR 1 * ln (INR 2)).
Proof.
  intros [positive small]; specialize (small [] ltac:(split; [simpl; lia|constructor])).
  simpl probability in *; unfold even_policy in *.
  assert (smallest 2 (softmax 2 (fun _ => 0)) = / 2) as least.
  { destruct (smallest_attained 2 (softmax 2 (fun _ => 0)) ltac:(lia)) as (k & _ & ->).
    apply even_softmax. }
  rewrite least in small; rewrite even_softmax; change (INR 1) with 1; change (INR 2) with 2.
  rewrite sqrt_1; unfold Rsqr in small; pose proof ln_2_above.
  assert (1 / 2 <= 1 / 2 * (1 / 2) / (2 * 1 * constant)); [|lra].
  apply (Rmult_le_reg_r (2 * 1 * constant)); [lra|].
  replace (1 / 2 * (1 / 2) / (2 * 1 * constant) * (2 * 1 * constant)) with (1 / 4) by (field; lra).
  lra.
Qed.

From PolicyEntropy.library Require Import Witnesses Domains TreeDomains.

Theorem witness : Statements.aent.epsilon_squared.witness.
Proof.
  exists 2%nat, 1%nat, (fun _ => (fun _ => 0)), (fun y => Nat.eqb (List.hd 0%nat y) 1), 1, (1 / 2);
    witnessed.
Qed.

Definition first_right : state -> bool := fun y => match y with [0%nat; 0%nat] => true | _ => false end.
Definition reward : state -> R := fun y => if first_right y then 1 else 0.
Definition lambda : R := / ln 2.

(** * A single right response of two tokens, of which e^(1/lambda) is 2: bounds that cross *)

Lemma ln_2_small : ln 2 <= 5 / 6.
Proof.
  rewrite <- (ln_exp (5 / 6)); apply Rlt_le, ln_increasing; [lra|].
  pose proof (exp_ineq1 (5 / 12) ltac:(lra)) as above.
  replace (5 / 6) with (5 / 12 + 5 / 12) by field; rewrite exp_plus; nra.
Qed.

Lemma visits_of_soft : soft_visits 2 2 (fun _ _ => 0) reward lambda [0%nat] = 3 / 5 /\ soft_visits 2 2 (fun _ _ => 0) reward lambda [1%nat] = 2 / 5.
Proof.
  pose proof ln_lt_2 as low.
  assert (lambda <> 0) as other by (apply Rinv_neq_0_compat; lra).
  assert (forall x, (0 + lambda * x) / lambda = x) as back by (intros; field; exact other).
  assert (exp ((1 + 0) / lambda) = 2) as one by (replace ((1 + 0) / lambda) with (ln 2) by (unfold lambda; field; lra); apply exp_ln; lra).
  assert (exp ((0 + 0) / lambda) = 1) as none by (replace ((0 + 0) / lambda) with 0 by (field; exact other); apply exp_0).
  unfold soft_visits; simpl probability; unfold softmax, soft_policy, edge_reward; simpl.
  unfold reward, first_right, after, edge_reward; simpl.
  rewrite !back. rewrite !one, !none, !exp_ln by lra; split; field.
Qed.

Lemma D_value : soft_constant 2 2 (fun _ _ => 0) reward lambda = 5 / 48.
Proof.
  destruct visits_of_soft as [left right].
  assert (forall s, state_of 2 2 s -> visits 2 2 (fun _ _ => 0) s * smallest 2 (softmax 2 (fun _ => 0)) = match s with [] => 1 / 2 | _ => 1 / 4 end) as reached.
  { intros s [short inside]; destruct s as [|a [|]]; [|inversion inside; destruct a as [|[|]]; try lia|simpl in short; lia]; numbers. }
  unfold soft_constant; apply Rle_antisym.
  - pose proof (smallest_state_le 2 2 (fun s => (visits 2 2 (fun _ _ => 0) s * smallest 2 (softmax 2 (fun _ => 0))) ^ 2 / soft_visits 2 2 (fun _ _ => 0) reward lambda s) [0%nat]) as below.
    cbv beta in below; rewrite reached, left in below by (split; [simpl; lia|repeat constructor]); 
    eapply Rle_trans; [apply below; split; [simpl; lia|repeat constructor]|]; lra.
  - destruct (smallest_state_attained 2 2 (fun s => (visits 2 2 (fun _ _ => 0) s * smallest 2 (softmax 2 (fun _ => 0))) ^ 2 / soft_visits 2 2 (fun _ _ => 0) reward lambda s) ltac:(lia) ltac:(lia)) as (s & state & ->).
    rewrite reached by exact state; destruct state as [short inside]; destruct s as [|a [|]]; [|inversion inside; subst; destruct a as [|[|]]; try lia|simpl in short; lia].
    + unfold soft_visits; simpl; lra.
    + rewrite left; lra.
    + rewrite right; lra.
Qed.

Lemma ratios : let k := square_coefficient 2 2 (fun _ _ => 0) reward lambda in let c := linear_coefficient 2 2 (fun _ _ => 0) reward in
  0 < k /\ 0 < c /\ 4 * k * entropy_bias 2 2 (fun _ _ => 0) reward lambda <= c ^ 2.
Proof.
  assert (largest_responses 2 2 reward = 1) as top.
  { apply Rle_antisym; [|apply (largest_responses_ge 2 2 reward [0%nat; 0%nat]); repeat split; repeat constructor].
    destruct (largest_responses_attained 2 2 reward ltac:(lia)) as (y & _ & ->); unfold reward.
    destruct (first_right y); lra. }
  assert (forall y, is_right 2 2 reward y = first_right y) as same.
  { intros y; unfold is_right, equal; rewrite top; unfold reward.
    destruct (first_right y); destruct (Req_EM_T _ 1); reflexivity || lra. }
  assert (number_right 2 2 reward = 1) as single.
  { unfold number_right; rewrite (sum_responses_ext 2 2 _ (fun y => if first_right y then 1 else 0)); [numbers|].
    intros y _; rewrite same; reflexivity. }
  assert (largest_right_probability 2 2 (fun _ _ => 0) reward = 1 / 4) as likeliest.
  { assert (probability 2 (fun _ _ => 0) [0%nat; 0%nat] = 1 / 4) as chance by numbers.
    unfold largest_right_probability; apply Rle_antisym.
    - destruct (largest_responses_attained 2 2 (fun y => if is_right 2 2 reward y then probability 2 (fun _ _ => 0) y else 0)
                  ltac:(lia)) as (y & _ & ->); rewrite same; unfold first_right.
      destruct y as [|[|] [|[|] [|]]]; lra.
    - eapply Rle_trans; [apply Req_le; symmetry; exact chance|].
      pose proof (largest_responses_ge 2 2 (fun y => if is_right 2 2 reward y then probability 2 (fun _ _ => 0) y else 0)
                    [0%nat; 0%nat]) as above; cbv beta in above; rewrite same in above.
      apply above; repeat split; repeat constructor. }
  pose proof ln_lt_2 as low; pose proof ln_2_small as small.
  unfold square_coefficient, linear_coefficient, entropy_bias; rewrite D_value, likeliest, single, ln_1.
  cbv zeta; replace (INR 2) with 2 by (simpl; ring).
  assert (0 < lambda) as positive by (apply Rinv_0_lt_compat; lra).
  assert (0 < sqrt 2) as root by (apply sqrt_lt_R0; lra).
  pose proof (sqrt_sqrt 2 ltac:(lra)) as square.
  repeat split.
  - apply Rdiv_lt_0_compat; [lra|]. apply Rmult_lt_0_compat; lra.
  - apply Rdiv_lt_0_compat; lra.
  - replace (4 * (1 / (2 * lambda * (5 / 48))) * (lambda * (2 * ln 2 - 0))) with (192 / 5 * ln 2) by (field; lra).
    replace ((sqrt 2 / (1 / 4)) ^ 2) with (16 * (sqrt 2 * sqrt 2)) by field. lra.
Qed.

Theorem witness_1 : Statements.aent.epsilon_squared.witness_1.
Proof.
  destruct ratios as (k_pos & c_pos & room); cbv zeta in *.
  set (k := square_coefficient _ _ _ _ _) in *; set (c := linear_coefficient _ _ _ _) in *; set (b := entropy_bias _ _ _ _ _) in *.
  exists 2%nat, 2%nat, (fun _ _ => 0), first_right, lambda, (c / (2 * k)).
  split; [lia|]; split; [lia|]; split; [exists [0%nat; 0%nat]; repeat split; repeat constructor|].
  split; [apply Rinv_0_lt_compat; pose proof ln_lt_2; lra|]; split; [apply Rdiv_lt_0_compat; lra|].
  split; [numbers|].
  change (k * (c / (2 * k)) ^ 2 + b <= c * (c / (2 * k))).
  apply (Rmult_le_reg_r (4 * k)); [lra|].
  replace ((k * (c / (2 * k)) ^ 2 + b) * (4 * k)) with (c ^ 2 + 4 * k * b) by (field; lra).
  replace (c * (c / (2 * k)) * (4 * k)) with (2 * c ^ 2) by (field; lra). lra.
Qed.

Theorem witness_2 : Statements.aent.epsilon_squared.witness_2.
Proof.
  destruct ratios as (k_pos & c_pos & room); cbv zeta in *.
  set (k := square_coefficient _ _ _ _ _) in *; set (c := linear_coefficient _ _ _ _) in *; set (b := entropy_bias _ _ _ _ _) in *.
  exists 2%nat, 2%nat, (fun _ _ => 0), first_right, lambda, (c / (2 * k)).
  split; [lia|]; split; [lia|]; split; [exists [0%nat; 0%nat]; repeat split; repeat constructor|].
  split; [apply Rinv_0_lt_compat; pose proof ln_lt_2; lra|]; split; [apply Rdiv_lt_0_compat; lra|].
  split; [numbers|].
  change ((2 * k * (c / (2 * k)) - c) ^ 2 <= c ^ 2 - 4 * k * b).
  replace (2 * k * (c / (2 * k)) - c) with 0 by (field; lra). lra.
Qed.

Theorem defined : Statements.aent.epsilon_squared.defined.
Proof. domains. Qed.

From PolicyEntropy.library Require Import ConditionsMet.
From Trusted.Theorems.aent Require epsilon_squared.
From Trusted.Conditions.aent Require epsilon_squared.

Theorem fails_witness : Conditions.aent.epsilon_squared.fails_witness.
Proof.
  exists (1 / 4); split; [lra|]; intros s [short _].
  destruct s; [|simpl in short; lia].
  assert (smallest 2 (softmax 2 (fun _ => 0)) = / 2) as least.
  { destruct (smallest_attained 2 (softmax 2 (fun _ => 0)) ltac:(lia)) as (k & _ & least).
    rewrite even_softmax in least; exact least. }
  change (1 / 4 * 1 <= Rsqr (1 * smallest 2 (softmax 2 (fun _ => 0)))); rewrite least; unfold Rsqr; lra.
Qed.

Theorem fails_defined : Conditions.aent.epsilon_squared.fails_defined.
Proof.
  intros constant; split; [red; intros; lra|]; intros [positive _].
  split; [apply pos_INR|]; split; [|split; [lra|apply lt_0_INR; lia]].
  apply not_eq_sym, Rlt_not_eq, probability_pos; lia.
Qed.
