import { useEffect, useRef, useState } from './html.js';

/** However often it fails, it is asked again; no more often than this. */
const SLOWEST_MS = 30_000;

/**
 * Asks, and asks again for as long as the page is looked at: one question at a time, more slowly while it fails.
 *
 * @param load - asks. What an answer to an earlier question brings is not shown any more.
 * @param everyMs - 0 for once.
 * @param question - asks anew when it changes.
 * @returns `answer` of the last time it came, `error` while it does not, and `refresh`.
 */
export function usePolled(load, everyMs, question) {
  const [state, setState] = useState({});
  const loading = useRef(load);
  const round = useRef(() => undefined);
  loading.current = load;
  useEffect(() => {
    let isOver = false;
    let turn = 0;
    let failures = 0;
    let timer;
    const next = async () => {
      clearTimeout(timer);
      const own = (turn += 1);
      const isNewest = () => own === turn && !isOver;
      if (!document.hidden) {
        try {
          const answer = await loading.current();
          failures = 0;
          if (isNewest()) setState({ question, answer });
        } catch (error) {
          failures += 1;
          if (isNewest()) {
            setState((before) => ({
              ...(before.question === question && before),
              question,
              error,
            }));
          }
        }
      }
      if (!isNewest() || everyMs === 0) return;
      timer = setTimeout(() => void next(), Math.min(everyMs * 2 ** failures, SLOWEST_MS));
    };
    round.current = next;
    const onVisible = () => {
      if (!document.hidden) void next();
    };
    document.addEventListener('visibilitychange', onVisible);
    void next();
    return () => {
      isOver = true;
      clearTimeout(timer);
      document.removeEventListener('visibilitychange', onVisible);
    };
  }, [question]);
  const { answer, error } = state.question === question ? state : {};
  return {
    answer,
    error,
    isLoading: answer === undefined && error === undefined,
    refresh: () => round.current(),
  };
}
