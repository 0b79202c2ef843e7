// The bytes of packing.py as a specification: a JSON header, then the long rows as float32.

function unpackCurves(data) {
  const bytes = data instanceof Uint8Array ? data : new Uint8Array(data);
  const length = new DataView(bytes.buffer, bytes.byteOffset).getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + length)));
  // A copy: a view would have to begin at a multiple of four bytes.
  const numbers = new Float32Array(bytes.slice(4 + length).buffer);
  const whole = (value) => {
    if (value === null || typeof value !== 'object') return value;
    if (value.packed) {
      const [first, count] = value.packed;
      return Array.from(numbers.subarray(first, first + count));
    }
    for (const key of Object.keys(value)) value[key] = whole(value[key]);
    return value;
  };
  return whole(header);
}
