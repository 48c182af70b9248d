/** Names of notebooks and variables are cut to this, so that the sentence around them stays whole. */
const LONGEST_NAME = 32;

/** Cut in the middle, so that the end of a file name stays. */
export function shorten(text: string, longest = LONGEST_NAME): string {
  const letters = Array.from(text);
  if (letters.length <= longest) {
    return text;
  }
  const half = (longest - 1) / 2;
  return (
    letters.slice(0, Math.ceil(half)).join('') +
    '…' +
    letters.slice(letters.length - Math.floor(half)).join('')
  );
}
