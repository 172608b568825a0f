(** Moments of sums over a group of independent responses, and of the estimates made of them. *)

From Coq Require Import Reals Lra Lia List.
From Trusted Require Import Definitions Groups.
From PolicyEntropy.library Require Import Basics Trees.
From PolicyEntropy.library Require RewardGroups.
Import RewardGroups(total_over_ext, total_over_scal).
Import ListNotations.
Open Scope R_scope.

Lemma total_over_plus g f f' : total_over g (fun b => f b + f' b) = total_over g f + total_over g f'.
Proof. induction g as [|b rest IH]; simpl; [ring|rewrite IH; ring]. Qed.

Lemma total_over_const g c : total_over g (fun _ => c) = INR (length g) * c.
Proof. induction g as [|b rest IH]; cbn [total_over length]; [simpl; ring|rewrite IH, S_INR; ring]. Qed.

Section Independent.

Variables (n : nat) (z : vector).
Hypothesis some : (0 < n)%nat.

Let p := softmax n z.
(** The expectation over groups, and that over one response. *)
Let E (G : nat) (f : state -> R) := mean_responses n G (fun _ => z) f.
Let M (f : vector) := mean n p f.

Lemma E_first G f : E (S G) f = M (fun b => E G (fun g => f (b :: g))).
Proof. apply mean_responses_first. Qed.

Lemma E_ext G f f' : (forall g, length g = G -> f g = f' g) -> E G f = E G f'.
Proof. intros same; apply mean_responses_ext; intros g [size _]; apply same, size. Qed.

Lemma E_plus G f f' : E G (fun g => f g + f' g) = E G f + E G f'.
Proof. apply mean_responses_plus. Qed.

Lemma E_scal G c f : E G (fun g => c * f g) = c * E G f.
Proof. apply mean_responses_scal. Qed.

Lemma E_const G c : E G (fun _ => c) = c.
Proof. apply mean_responses_const, some. Qed.

Lemma M_ext f f' : (forall b, f b = f' b) -> M f = M f'.
Proof. intros same; apply mean_ext; intros; apply same. Qed.

Lemma M_plus f f' : M (fun b => f b + f' b) = M f + M f'.
Proof. apply mean_plus. Qed.

Lemma M_scal c f : M (fun b => c * f b) = c * M f.
Proof. apply mean_scal. Qed.

Lemma M_const c : M (fun _ => c) = c.
Proof. apply mean_const, softmax_sum, some. Qed.

(** Responses are distributed like the policy. *)
Lemma mean_of_total G f : E G (fun g => total_over g f) = INR G * M f.
Proof.
  induction G as [|G IH]; [unfold E, mean_responses; simpl; ring|].
  rewrite E_first; cbn [total_over].
  rewrite (M_ext _ (fun b => f b + INR G * M f)).
  - rewrite M_plus, !M_const, S_INR; ring.
  - intros b; rewrite E_plus, E_const, IH; reflexivity.
Qed.

(** Two responses are independent. *)
Lemma mean_of_two_totals G f f' :
  E G (fun g => total_over g f * total_over g f')
  = INR G * M (fun b => f b * f' b) + INR G * (INR G - 1) * (M f * M f').
Proof.
  induction G as [|G IH]; [unfold E, mean_responses; simpl; ring|].
  rewrite E_first; cbn [total_over].
  rewrite (M_ext _ (fun b => f b * f' b + (INR G * M f' * f b + INR G * M f * f' b
    + (INR G * M (fun b => f b * f' b) + INR G * (INR G - 1) * (M f * M f'))))).
  - rewrite !M_plus, !M_scal, !M_const, S_INR; ring.
  - intros b.
    rewrite (E_ext G _ (fun g => f b * f' b + (f b * total_over g f' + (f' b * total_over g f
      + total_over g f * total_over g f')))) by (intros; ring).
    rewrite !E_plus, !E_scal, E_const, !mean_of_total, IH; ring.
Qed.

Section Centered.

(** Two numbers x and y of a response, of mean zero, and their product. *)
Variables x y : vector.
Hypotheses (x_centered : M x = 0) (y_centered : M y = 0).
Let w : vector := fun b => y b * x b.

Lemma mean_of_three_totals G :
  E G (fun g => total_over g w * (total_over g y * total_over g x))
  = INR G * M (fun b => w b * w b) + INR G * (INR G - 1) * (M w * M w).
Proof.
  induction G as [|G IH]; [unfold E, mean_responses; simpl; ring|].
  rewrite E_first; cbn [total_over].
  rewrite (M_ext _ (fun b => w b * w b + (2 * (INR G * M w) * w b
    + (INR G * M (fun a => w a * x a) * y b + (INR G * M (fun a => w a * y a) * x b
    + (INR G * M (fun b => w b * w b) + INR G * (INR G - 1) * (M w * M w))))))).
  - rewrite !M_plus, !M_scal, !M_const, S_INR, x_centered, y_centered; ring.
  - intros b.
    rewrite (E_ext G _ (fun g => w b * w b + (w b * y b * total_over g x + (w b * x b * total_over g y
      + (w b * (total_over g y * total_over g x) + (w b * total_over g w
      + (y b * (total_over g w * total_over g x) + (x b * (total_over g w * total_over g y)
      + total_over g w * (total_over g y * total_over g x))))))))) by (intros; unfold w; ring).
    rewrite !E_plus, !E_scal, E_const, !mean_of_total, !mean_of_two_totals, IH, x_centered, y_centered.
    fold w; ring.
Qed.

Lemma mean_of_four_totals G :
  E G (fun g => total_over g y * total_over g x * (total_over g y * total_over g x))
  = INR G * M (fun b => w b * w b)
    + INR G * (INR G - 1) * (M (fun b => y b * y b) * M (fun b => x b * x b) + 2 * (M w * M w)).
Proof.
  induction G as [|G IH]; [unfold E, mean_responses; simpl; ring|].
  rewrite E_first; cbn [total_over].
  set (yx2 := E G (fun g => total_over g y * (total_over g x * total_over g x))).
  set (y2x := E G (fun g => total_over g x * (total_over g y * total_over g y))).
  rewrite (M_ext _ (fun b => w b * w b + (INR G * M (fun a => x a * x a) * (y b * y b)
    + (INR G * M (fun a => y a * y a) * (x b * x b) + (4 * (INR G * M w) * w b
    + (2 * yx2 * y b + (2 * y2x * x b + (INR G * M (fun b => w b * w b)
    + INR G * (INR G - 1) * (M (fun b => y b * y b) * M (fun b => x b * x b) + 2 * (M w * M w)))))))))).
  - rewrite !M_plus, !M_scal, !M_const, S_INR, x_centered, y_centered; ring.
  - intros b.
    rewrite (E_ext G _ (fun g => w b * w b + (2 * (w b * y b) * total_over g x
      + (2 * (w b * x b) * total_over g y + (y b * y b * (total_over g x * total_over g x)
      + (x b * x b * (total_over g y * total_over g y) + (4 * w b * (total_over g y * total_over g x)
      + (2 * y b * (total_over g y * (total_over g x * total_over g x))
      + (2 * x b * (total_over g x * (total_over g y * total_over g y))
      + total_over g y * total_over g x * (total_over g y * total_over g x))))))))))
      by (intros; unfold w; ring).
    rewrite !E_plus, !E_scal, E_const, !mean_of_total, !mean_of_two_totals, IH, x_centered, y_centered.
    fold w yx2 y2x; ring.
Qed.

(** The sum of products less the product of sums over G: its mean and its mean square. *)
Lemma mean_of_cross G : (1 <= G)%nat ->
  E G (fun g => total_over g w - total_over g y * total_over g x / INR G) = (INR G - 1) * M w.
Proof.
  intros several; assert (0 < INR G) by (apply lt_0_INR; lia).
  rewrite (E_ext G _ (fun g => total_over g w + - / INR G * (total_over g y * total_over g x)))
    by (intros; field; lra).
  rewrite E_plus, E_scal, mean_of_total, mean_of_two_totals, x_centered; fold w; field; lra.
Qed.

Lemma mean_square_of_cross G : (1 <= G)%nat ->
  E G (fun g => (total_over g w - total_over g y * total_over g x / INR G)
                * (total_over g w - total_over g y * total_over g x / INR G))
  = (INR G - 1) * (INR G - 1) / INR G * M (fun b => w b * w b)
    + (INR G - 1) * (M w * M w * (INR G - 2 + 2 / INR G)
                     + M (fun b => y b * y b) * M (fun b => x b * x b) / INR G).
Proof.
  intros several; assert (0 < INR G) by (apply lt_0_INR; lia).
  rewrite (E_ext G _ (fun g => total_over g w * total_over g w
    + (- (2 / INR G) * (total_over g w * (total_over g y * total_over g x))
    + / INR G * / INR G * (total_over g y * total_over g x * (total_over g y * total_over g x)))))
    by (intros; field; lra).
  rewrite !E_plus, !E_scal, mean_of_two_totals, mean_of_three_totals, mean_of_four_totals; field; lra.
Qed.

End Centered.

(** * The estimates *)

Variables reward direction : vector.
Let x := centered n p direction.
Let y := centered n p reward.
Let c := covariance n p reward direction.

Lemma x_zero : M x = 0.
Proof. apply mean_centered, softmax_sum, some. Qed.

Lemma y_zero : M y = 0.
Proof. apply mean_centered, softmax_sum, some. Qed.

Lemma product_mean : M (fun b => y b * x b) = c.
Proof. reflexivity. Qed.

Lemma plain_product_mean : M (fun b => reward b * x b) = c.
Proof.
  unfold c; rewrite covariance_sym, covariance_centered_l by apply softmax_sum, some.
  apply mean_ext; intros; unfold x; ring.
Qed.

Lemma estimate_without_baseline g :
  estimate_along n z (without_baseline reward g) direction g
  = / INR (length g) * total_over g (fun b => reward b * x b).
Proof. reflexivity. Qed.

(** In deviations from the mean reward of the policy, which cancels. *)
Lemma cross_of_deviations g : (1 <= length g)%nat ->
  total_over g (fun b => reward b * x b) - total_over g reward * total_over g x / INR (length g)
  = total_over g (fun b => y b * x b) - total_over g y * total_over g x / INR (length g).
Proof.
  intros several; assert (0 < INR (length g)) by (apply lt_0_INR; lia).
  rewrite (total_over_ext g (fun b => y b * x b) (fun b => reward b * x b + - M reward * x b))
    by (intros; unfold y, centered; fold (M reward); ring).
  rewrite (total_over_ext g y (fun b => reward b + - M reward)) by (intros; reflexivity).
  rewrite !total_over_plus, total_over_scal, total_over_const; field; lra.
Qed.

Lemma estimate_with_group_mean g : (1 <= length g)%nat ->
  estimate_along n z (with_group_mean reward g) direction g
  = / INR (length g) * (total_over g (fun b => y b * x b) - total_over g y * total_over g x / INR (length g)).
Proof.
  intros several; rewrite <- cross_of_deviations by exact several.
  unfold estimate_along, with_group_mean; f_equal; fold p x.
  rewrite (total_over_ext g _ (fun b => reward b * x b + - (total_over g reward / INR (length g)) * x b))
    by (intros; ring).
  rewrite total_over_plus, total_over_scal; unfold Rdiv; ring.
Qed.

Lemma estimate_with_mean_of_others g : (2 <= length g)%nat ->
  estimate_along n z (with_mean_of_others reward g) direction g
  = / (INR (length g) - 1)
    * (total_over g (fun b => y b * x b) - total_over g y * total_over g x / INR (length g)).
Proof.
  intros several; assert (2 <= INR (length g)) by (apply (le_INR 2) in several; simpl in several; lra).
  rewrite <- cross_of_deviations by lia.
  unfold estimate_along, with_mean_of_others; fold p x.
  rewrite (total_over_ext g _ (fun b => INR (length g) / (INR (length g) - 1) * (reward b * x b)
    + - (total_over g reward / (INR (length g) - 1)) * x b)) by (intros; field; lra).
  rewrite total_over_plus, !total_over_scal; field; lra.
Qed.

Lemma several_times G : (2 <= G)%nat -> 2 <= INR G.
Proof. intros several; apply (le_INR 2) in several; simpl in several; lra. Qed.

Lemma mean_without_baseline G : (1 <= G)%nat -> mean_along n G without_baseline z reward direction = c.
Proof.
  intros several; assert (0 < INR G) by (apply lt_0_INR; lia).
  transitivity (E G (fun g => / INR G * total_over g (fun b => reward b * x b))).
  - apply E_ext; intros g size; rewrite estimate_without_baseline, size; reflexivity.
  - rewrite E_scal, mean_of_total, plain_product_mean; field; lra.
Qed.

Lemma mean_with_group_mean G : (1 <= G)%nat ->
  mean_along n G with_group_mean z reward direction = (1 - 1 / INR G) * c.
Proof.
  intros several; assert (0 < INR G) by (apply lt_0_INR; lia).
  transitivity (E G (fun g => / INR G
    * (total_over g (fun b => y b * x b) - total_over g y * total_over g x / INR G))).
  - apply E_ext; intros g size; rewrite estimate_with_group_mean, size by lia; reflexivity.
  - rewrite E_scal, mean_of_cross, product_mean by (apply x_zero || assumption); field; lra.
Qed.

Lemma mean_with_mean_of_others G : (2 <= G)%nat ->
  mean_along n G with_mean_of_others z reward direction = c.
Proof.
  intros several; pose proof (several_times G several).
  transitivity (E G (fun g => / (INR G - 1)
    * (total_over g (fun b => y b * x b) - total_over g y * total_over g x / INR G))).
  - apply E_ext; intros g size; rewrite estimate_with_mean_of_others, size by lia; reflexivity.
  - rewrite E_scal, mean_of_cross, product_mean by (apply x_zero || lia); field; lra.
Qed.

(** Variances: what each of the three is made of. *)
Lemma variance_eq G f : covariance_responses n G (fun _ => z) f f = E G (fun g => f g * f g) - E G f * E G f.
Proof. apply covariance_responses_eq, some. Qed.

Let own_variance (f : vector) := covariance n p (fun b => f b * x b) (fun b => f b * x b).

Definition variance_of_others (G : R) : R :=
  own_variance y / G
  + (covariance n p reward reward * covariance n p direction direction + c * c) / (G * (G - 1)).

Lemma own_variance_eq f :
  M (fun b => f b * x b) = c -> own_variance f = M (fun b => f b * x b * (f b * x b)) - c * c.
Proof. intros same; unfold own_variance; rewrite covariance_eq, <- same by apply softmax_sum, some; reflexivity. Qed.

Lemma variance_without_baseline G : (1 <= G)%nat ->
  variance_along n G without_baseline z reward direction
  = own_variance reward / INR G.
Proof.
  rewrite (own_variance_eq reward plain_product_mean).
  intros several; assert (0 < INR G) by (apply lt_0_INR; lia).
  unfold variance_along; rewrite variance_eq.
  change (E G (fun g => estimate_along n z (without_baseline reward g) direction g))
    with (mean_along n G without_baseline z reward direction).
  rewrite mean_without_baseline by exact several.
  rewrite (E_ext G _ (fun g => / INR G * / INR G
    * (total_over g (fun b => reward b * x b) * total_over g (fun b => reward b * x b)))).
  - rewrite E_scal, mean_of_two_totals, plain_product_mean; field; lra.
  - intros g size; rewrite estimate_without_baseline, size; ring.
Qed.

Lemma variance_with_mean_of_others G : (2 <= G)%nat ->
  variance_along n G with_mean_of_others z reward direction = variance_of_others (INR G).
Proof.
  intros several; pose proof (several_times G several).
  unfold variance_along; rewrite variance_eq.
  change (E G (fun g => estimate_along n z (with_mean_of_others reward g) direction g))
    with (mean_along n G with_mean_of_others z reward direction).
  rewrite mean_with_mean_of_others by exact several.
  rewrite (E_ext G _ (fun g => / (INR G - 1) * / (INR G - 1)
    * ((total_over g (fun b => y b * x b) - total_over g y * total_over g x / INR G)
       * (total_over g (fun b => y b * x b) - total_over g y * total_over g x / INR G)))).
  - rewrite E_scal, mean_square_of_cross, product_mean by (apply x_zero || apply y_zero || lia).
    unfold variance_of_others; rewrite (own_variance_eq y product_mean); change (M (fun b => y b * y b)) with (covariance n p reward reward).
    change (M (fun b => x b * x b)) with (covariance n p direction direction); field; lra.
  - intros g size; rewrite estimate_with_mean_of_others, size by lia; ring.
Qed.

Lemma variance_with_group_mean G : (2 <= G)%nat ->
  variance_along n G with_group_mean z reward direction
  = (1 - 1 / INR G) * (1 - 1 / INR G) * variance_of_others (INR G).
Proof.
  intros several; pose proof (several_times G several).
  rewrite <- variance_with_mean_of_others by exact several; unfold variance_along; rewrite !variance_eq.
  assert (scaled : forall g : state, length g = G ->
    estimate_along n z (with_group_mean reward g) direction g
    = (1 - 1 / INR G) * estimate_along n z (with_mean_of_others reward g) direction g).
  { intros g size; rewrite estimate_with_group_mean, estimate_with_mean_of_others, size by lia; field; lra. }
  rewrite (E_ext G (fun g : state => estimate_along n z (with_group_mean reward g) direction g) _ scaled), E_scal.
  rewrite (E_ext G _ (fun g => (1 - 1 / INR G) * (1 - 1 / INR G)
    * (estimate_along n z (with_mean_of_others reward g) direction g
       * estimate_along n z (with_mean_of_others reward g) direction g)))
    by (intros g size; rewrite scaled by exact size; ring).
  rewrite E_scal; ring.
Qed.

End Independent.
