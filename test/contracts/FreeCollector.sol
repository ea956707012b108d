// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

interface IMintable {
    function mint(address to, uint256 value) external;
}

/// @title A collector of deposits that mints what it is told to, and may call the escrow meanwhile.
contract FreeCollector {
    /// @param data - abi.encode(uint256 minted, bytes callOfTheEscrow).
    function collect(address, address token, uint256, bytes32, bytes calldata data) external {
        (uint256 minted, bytes memory inner) = abi.decode(data, (uint256, bytes));
        if (inner.length > 0) {
            (bool ok, bytes memory answer) = msg.sender.call(inner);
            if (!ok) {
                assembly {
                    revert(add(answer, 32), mload(answer))
                }
            }
        }
        IMintable(token).mint(msg.sender, minted);
    }
}
