"""Models of scikit-learn, converted by skl2onnx: ai.onnx.ml operators give scikit-learn's own predictions."""

import numpy as np
import pytest

import lathe

skl2onnx = pytest.importorskip("skl2onnx")
from sklearn import ensemble, feature_extraction, linear_model, naive_bayes, neural_network, pipeline, preprocessing, svm, tree  # noqa: E402
from sklearn.impute import SimpleImputer  # noqa: E402

RNG = np.random.default_rng(3)
X = RNG.normal(size=(60, 4)).astype(np.float32)
Y = (X @ [1, -2, 0.5, 0.3] + 0.2 * RNG.normal(size=60)).astype(np.float32)
TWO, THREE = (Y > 0).astype(np.int64), np.digitize(Y, [-0.8, 0.8])
WORDS = np.array(["low", "middle", "high"])[THREE]

CLASSIFIERS = {
    "logistic": linear_model.LogisticRegression(),
    "linear svm": svm.LinearSVC(),
    "svm rbf": svm.SVC(kernel="rbf", probability=False, decision_function_shape="ovo"),
    "svm probabilities": svm.SVC(kernel="poly", degree=2, probability=True, random_state=0),
    "tree": tree.DecisionTreeClassifier(max_depth=4, random_state=0),
    "forest": ensemble.RandomForestClassifier(n_estimators=7, max_depth=4, random_state=0),
    "boosting": ensemble.GradientBoostingClassifier(n_estimators=6, random_state=0),
    "bayes": naive_bayes.GaussianNB(),
    "network": neural_network.MLPClassifier((5,), max_iter=50, random_state=0),
}
REGRESSORS = {
    "ridge": linear_model.Ridge(),
    "svm": svm.SVR(kernel="rbf"),
    "nu svm": svm.NuSVR(kernel="sigmoid"),
    "tree": tree.DecisionTreeRegressor(max_depth=4, random_state=0),
    "forest": ensemble.RandomForestRegressor(n_estimators=7, max_depth=4, random_state=0),
    "boosting": ensemble.GradientBoostingRegressor(n_estimators=6, random_state=0),
}


def converted(model, x=X, **options):
    kind = skl2onnx.common.data_types.FloatTensorType([None, x.shape[1]])
    return skl2onnx.convert_sklearn(model, initial_types=[("x", kind)], target_opset={"": 17, "ai.onnx.ml": 3}, **options).SerializeToString()


def engine_of(model):
    return lathe.build(model, threads=1)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("labels", [TWO, THREE, WORDS], ids=["two", "three", "words"])
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_classifier(name, labels):
    model = CLASSIFIERS[name].fit(X, labels)
    raw = {} if not hasattr(model, "predict_proba") else {"options": {id(model): {"zipmap": False}}}
    label, scores = engine_of(converted(model, **raw)).run({"x": X}).values()
    clear = np.ones(len(X), bool)
    if raw:
        best = np.sort(model.predict_proba(X), 1)
        clear = best[:, -1] - best[:, -2] > 1e-5  # of two that are as probable either may win
    assert clear.sum() > 40
    assert np.array_equal(np.asarray(label, labels.dtype)[clear], model.predict(X)[clear])
    if raw:
        np.testing.assert_allclose(scores, model.predict_proba(X), rtol=1e-3, atol=1e-4)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", REGRESSORS)
def test_regressor(name):
    model = REGRESSORS[name].fit(X, Y)
    (got,) = engine_of(converted(model)).run({"x": X}).values()
    np.testing.assert_allclose(got[:, 0], model.predict(X), rtol=1e-3, atol=1e-4)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("keys", [TWO, WORDS], ids=["numbers", "words"])
def test_probabilities_by_label(keys):
    """ZipMap: a list of dictionaries."""
    model = linear_model.LogisticRegression().fit(X, keys)
    _, rows = engine_of(converted(model)).run({"x": X}).values()
    assert [list(row) for row in rows] == [list(model.classes_)] * len(X)
    np.testing.assert_allclose([list(row.values()) for row in rows], model.predict_proba(X), rtol=1e-3, atol=1e-5)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("step", [preprocessing.StandardScaler(), preprocessing.MinMaxScaler(), preprocessing.Normalizer("l1"), preprocessing.Normalizer("max"),
                                  preprocessing.Normalizer("l2"), preprocessing.Binarizer(threshold=0.1), SimpleImputer(), preprocessing.KBinsDiscretizer(3, encode="ordinal")], ids=str)  # fmt: skip
def test_preparation(step):
    x = X.copy()
    if isinstance(step, SimpleImputer):
        x[3, 1] = x[5, 2] = np.nan
    step.fit(x)
    (got,) = engine_of(converted(step, x)).run({"x": x}).values()
    want = step.transform(x)
    np.testing.assert_allclose(got, want.toarray() if hasattr(want, "toarray") else want, rtol=1e-4, atol=1e-5)


@pytest.mark.filterwarnings("ignore")
def test_words():
    kind = [("x", skl2onnx.common.data_types.StringTensorType([None, 1]))]
    words = np.array([["red"], ["green"], ["blue"], ["red"]], object)
    encoder = preprocessing.OneHotEncoder(sparse_output=False).fit(words)
    (got,) = engine_of(skl2onnx.convert_sklearn(encoder, initial_types=kind, target_opset=17).SerializeToString()).run({"x": words}).values()
    np.testing.assert_array_equal(got, encoder.transform(words))


@pytest.mark.filterwarnings("ignore")
def test_dictionaries():
    rows = [{"a": 1.0, "b": 2.0}, {"b": 3.0}]
    vectorizer = feature_extraction.DictVectorizer(sparse=False).fit(rows)
    kind = [("x", skl2onnx.common.data_types.DictionaryType(skl2onnx.common.data_types.StringTensorType([1]), skl2onnx.common.data_types.FloatTensorType([1])))]
    engine = engine_of(skl2onnx.convert_sklearn(vectorizer, initial_types=kind, target_opset=17).SerializeToString())
    for row, want in zip(rows, vectorizer.transform(rows)):
        (got,) = engine.run({"x": row}).values()
        np.testing.assert_array_equal(got, want[None])


@pytest.mark.filterwarnings("ignore")
def test_pipeline():
    model = pipeline.make_pipeline(preprocessing.StandardScaler(), svm.SVC(probability=True, random_state=0)).fit(X, WORDS)
    label, scores = engine_of(converted(model, options={id(model): {"zipmap": False}})).run({"x": X}).values()
    assert np.array_equal(label.astype(str), model.predict(X))
    np.testing.assert_allclose(scores, model.predict_proba(X), rtol=1e-3, atol=1e-4)
