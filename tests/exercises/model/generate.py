"""Right and wrong answers to `generate`."""

import numpy as np


def right_textbook(step, prompt, count, choose, stop=None):
    words, newest, caches = [], np.asarray(prompt), None
    for _ in range(count):
        scores, caches = step(newest, caches)
        word = choose(scores[-1])
        if stop is not None and word == stop:
            break
        words.append(word)
        newest = np.array([word])
    return words


def wrong_stops_at_the_prompts_words(step, prompt, count, choose, stop=None):
    words = right_textbook(step, prompt, count, choose, stop)
    return [word for word in words if word not in prompt]


def wrong_error_of_one_step_more_is_caught(step, prompt, count, choose, stop=None):
    words, newest, caches = [], np.asarray(prompt), None
    try:
        while True:
            scores, caches = step(newest, caches)
            words.append(choose(scores[-1]))
            newest = np.array(words[-1:])
            if words[-1] == stop:
                del words[-1]
                break
    except ValueError:
        pass
    return words


def wrong_step_by_name(step, prompt, count, choose, stop=None):
    return right_textbook(lambda t, c: step(tokens=t, cache=c), prompt, count, choose, stop)


WRONG = {
    "the whole text each time": lambda step, prompt, count, choose, stop=None: right_textbook(
        (lambda words: lambda t, c: step(np.concatenate([*words, t]), words.append(t)))([]),
        prompt,
        count,
        choose,
        stop,
    ),
    "one step more": lambda step, prompt, count, choose, stop=None: right_textbook(
        step, prompt, count + 1, choose, stop
    )[:count],
    "chosen by argmin": lambda step, prompt, count, choose, stop=None: right_textbook(
        step, prompt, count, lambda scores: int(np.argmin(scores)), stop
    ),
    "stop ignored": lambda step, prompt, count, choose, stop=None: right_textbook(
        step, prompt, count, choose
    ),
    "chosen twice": lambda step, prompt, count, choose, stop=None: right_textbook(
        step, prompt, count, lambda scores: (choose(scores), choose(scores))[1], stop
    ),
    "all rows": lambda step, prompt, count, choose, stop=None: right_textbook(
        lambda *read: ((both := step(*read))[0][None], both[1]), prompt, count, choose, stop
    ),
    "bare words": lambda step, prompt, count, choose, stop=None: right_textbook(
        lambda t, c: step(t if c is None else int(t[0]), c), prompt, count, choose, stop
    ),
    "lists": lambda step, prompt, count, choose, stop=None: right_textbook(
        lambda t, c: step(t.tolist(), c), prompt, count, choose, stop
    ),
    "prompt word by word": lambda step, prompt, count, choose, stop=None: right_textbook(
        lambda t, c: step(t[:1], c), prompt, count, choose, stop
    ),
}
